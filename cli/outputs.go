package cli

// notJudged is why an output that --force allows in a judged folder has no verdict.
const notJudged = "an output of this run, so it was not judged"
