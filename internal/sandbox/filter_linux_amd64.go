package sandbox

const here = amd64
