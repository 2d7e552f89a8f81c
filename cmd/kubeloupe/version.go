package main

import (
	"fmt"
	"runtime/debug"

	"github.com/kubeloupe/kubeloupe/agent"
)

// The linker sets these: the version for releases, and the others where Go does not record the commit in the program. See the Makefile.
var (
	version = ""
	// commit is the hash of the commit, committed when it was made, in RFC 3339.
	commit, committed = "", ""
	// tree is clean, or dirty if files differ from the commit.
	tree = ""
)

func writeVersion(s streams) error {
	_, err := fmt.Fprintln(s.out, nameOwn+" "+versionText())
	return err
}

// versionText is the linked version, or what the build knows of its commit.
func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	b := stamped(info.Settings)
	if b.Commit == "" {
		return "devel"
	}
	text := "devel-" + b.Commit[:min(12, len(b.Commit))]
	if b.Tree == treeDirty {
		text += "-dirty"
	}
	return text
}

// built returns what the linker or Go recorded about the build.
func built() agent.Build {
	if commit != "" {
		return agent.Build{Commit: commit, Tree: tree, Date: committed}
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return agent.Build{}
	}
	return stamped(info.Settings)
}

// The states of a work tree, in upstream's words.
const (
	treeClean = "clean"
	treeDirty = "dirty"
)

// stamped returns what Go recorded about the commit.
func stamped(settings []debug.BuildSetting) agent.Build {
	var b agent.Build
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Tree = treeClean
			if s.Value == "true" {
				b.Tree = treeDirty
			}
		}
	}
	return b
}
