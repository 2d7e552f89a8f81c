package ginkgoreport

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// The states of a test that matter here. All others are failures.
const (
	Passed  = "passed"
	Skipped = "skipped"
)

// Test is how one test ended.
type Test struct {
	Name string
	// State is ginkgo's: passed, skipped, failed, timedout, panicked...
	State   string
	Seconds float64
	// Message says why the test did not pass.
	Message string `json:",omitempty"`
}

// report is what is used of ginkgo's JSON report.
type report []struct {
	SpecReports []struct {
		ContainerHierarchyTexts    []string
		LeafNodeType, LeafNodeText string
		State                      string
		RunTime                    int64 // nanoseconds
		Failure                    struct{ Message string }
	}
}

// Read returns the tests that were requested, by name.
func Read(path string) ([]Test, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parse(data)
}

func parse(data []byte) ([]Test, error) {
	var suites report
	if err := json.Unmarshal(data, &suites); err != nil {
		return nil, fmt.Errorf("ginkgo's report: %w", err)
	}
	var list []Test
	for _, suite := range suites {
		for _, s := range suite.SpecReports {
			// A failed BeforeSuite keeps all tests from running.
			if s.LeafNodeType != "It" && (s.State == Passed || s.State == Skipped || !strings.Contains(s.LeafNodeType, "Suite")) {
				continue
			}
			// What the focus leaves out is skipped too, but without a reason.
			if s.State == Skipped && s.Failure.Message == "" {
				continue
			}
			name := strings.Join(append(slices.Clone(s.ContainerHierarchyTexts), s.LeafNodeText), " ")
			if s.LeafNodeType != "It" {
				name = s.LeafNodeType
			}
			list = append(list, Test{Name: name, State: s.State, Seconds: float64(s.RunTime) / 1e9, Message: s.Failure.Message})
		}
	}
	slices.SortFunc(list, func(a, b Test) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}
