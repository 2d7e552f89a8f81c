package main

import "github.com/kubeloupe/kubeloupe/test/ginkgoreport"

// The states of a test that matter here; what is neither is a failure.
const (
	passed  = ginkgoreport.Passed
	skipped = ginkgoreport.Skipped
)

// outcome is how one test ended.
type outcome = ginkgoreport.Test
