package agent

import (
	"runtime"
	"strings"

	"github.com/kubeloupe/kubeloupe/agent/node"
)

// Build is what is known about the build of this program; "" means unknown.
type Build struct {
	// Commit is the hash of kubeloupe's commit.
	Commit string
	// Tree is clean, or dirty if files differed from the commit.
	Tree string
	// Date is when the commit was made, in RFC 3339. Builds of a commit are identical, so that none has its own date.
	Date string
}

// buildLabels returns the labels of kubernetes_build_info, alternately names and values. The version is the one in the node's status; the
// others are about kubeloupe's own build.
//
// Upstream: k8s.io/component-base/metrics/prometheus/version/metrics.go.
func buildLabels(version string, b Build) []string {
	release := node.KubeletVersion(version)
	part := strings.SplitN(strings.TrimPrefix(release, "v"), ".", 3)
	return []string{
		"build_date", b.Date, "compiler", runtime.Compiler, "git_commit", b.Commit, "git_tree_state", b.Tree, "git_version", release,
		"go_version", runtime.Version(), "major", part[0], "minor", part[1], "platform", runtime.GOOS + "/" + runtime.GOARCH,
	}
}
