package main

import (
	"runtime/debug"
	"testing"

	"github.com/kubeloupe/kubeloupe/agent"
)

func TestRecordedBuild(t *testing.T) {
	of := func(values ...string) (out []debug.BuildSetting) {
		for i := 0; i+1 < len(values); i += 2 {
			out = append(out, debug.BuildSetting{Key: values[i], Value: values[i+1]})
		}
		return out
	}
	for name, c := range map[string]struct {
		settings []debug.BuildSetting
		want     agent.Build
	}{
		"nothing":        {nil, agent.Build{}},
		"no VCS":         {of("-compiler", "gc", "GOOS", "linux"), agent.Build{}},
		"a commit":       {of("vcs", "git", "vcs.revision", "4660bb65", "vcs.time", "2026-11-28T12:00:00Z", "vcs.modified", "false"), agent.Build{Commit: "4660bb65", Tree: "clean", Date: "2026-11-28T12:00:00Z"}},
		"changed files":  {of("vcs.revision", "4660bb65", "vcs.modified", "true"), agent.Build{Commit: "4660bb65", Tree: "dirty"}},
		"no state known": {of("vcs.revision", "4660bb65"), agent.Build{Commit: "4660bb65"}},
	} {
		if got := stamped(c.settings); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// What the linker sets comes before what Go recorded.
func TestLinkedBuild(t *testing.T) {
	defer func(c, d, s string) { commit, committed, tree = c, d, s }(commit, committed, tree)
	commit, committed, tree = "4660bb65", "2026-11-28T12:00:00Z", "dirty"
	if got, want := built(), (agent.Build{Commit: "4660bb65", Tree: "dirty", Date: "2026-11-28T12:00:00Z"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
