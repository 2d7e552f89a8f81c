// Package e2e tests the real binary against a real containerd.
//
// It owns one laboratory (see test/lab) for all its tests, which run one after
// the other: an agent ends what runs on its runtime that no source of its has,
// so two agents on one containerd would fight. Each test has a node of its own,
// with its own root directory, logs, name and cgroup root; it drives the agent by
// manifests, watches it by the records of `run -o json` and looks at what the
// runtime has by CRI calls. No test sleeps: it waits for a record, with a generous
// deadline. At the end of a test nothing of its pods may be left.
//
// The package holds nothing but tests. It runs one goroutine per agent, which
// reads its records.
package e2e
