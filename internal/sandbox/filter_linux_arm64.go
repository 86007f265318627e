package sandbox

const here = arm64
