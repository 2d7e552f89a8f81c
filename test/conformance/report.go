package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// The states of a test that matter here; what is neither is a failure.
const (
	passed  = "passed"
	skipped = "skipped"
)

// outcome is how one test ended.
type outcome struct {
	Name string
	// State is ginkgo's: passed, skipped, failed, timedout, panicked...
	State   string
	Seconds float64
	// Message says why the test did not pass.
	Message string `json:",omitempty"`
}

// ginkgoReport is what is used of ginkgo's JSON report.
type ginkgoReport []struct {
	SpecReports []struct {
		ContainerHierarchyTexts    []string
		ContainerHierarchyLabels   [][]string
		LeafNodeType, LeafNodeText string
		State                      string
		RunTime                    int64 // nanoseconds
		Failure                    struct{ Message string }
	}
}

// readReport returns the tests that were requested, by name.
func readReport(path string) ([]outcome, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseReport(data)
}

func parseReport(data []byte) ([]outcome, error) {
	var report ginkgoReport
	if err := json.Unmarshal(data, &report); err != nil {
		return nil, fmt.Errorf("ginkgo's report: %w", err)
	}
	var list []outcome
	for _, suite := range report {
		for _, s := range suite.SpecReports {
			// What the focus leaves out is skipped too, but without a reason.
			if s.LeafNodeType != "It" || s.State == skipped && s.Failure.Message == "" {
				continue
			}
			list = append(list, outcome{
				Name:    strings.Join(append(slices.Clone(s.ContainerHierarchyTexts), s.LeafNodeText), " "),
				State:   s.State,
				Seconds: float64(s.RunTime) / 1e9,
				Message: s.Failure.Message,
			})
		}
	}
	slices.SortFunc(list, func(a, b outcome) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}
