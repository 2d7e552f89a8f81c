package say

import (
	"cmp"
	"fmt"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
)

// Untold replaces data that records do not have: those of earlier versions, and those without their begin.
const Untold = "these records do not say"

// Arrived returns the progress of a pull: "41 MiB of 68 MiB". It is empty if nothing is known.
func Arrived(done, total int64) string {
	switch {
	case total > 0:
		return noise.Of(human.Bytes(done) + " of " + human.Bytes(total))
	case done > 0:
		return noise.Of(human.Bytes(done))
	}
	return ""
}

// Files returns the progress of a change to all files of a volume: "fsgroup 4200 files, 980/s".
func Files(e *trace.VolumeProgress) string {
	said := fmt.Sprintf("%s %d files", e.Op, e.Files)
	if !e.Done && e.PerSecond > 0 {
		said += fmt.Sprintf(", %d/s", e.PerSecond)
	}
	return noise.Of(said)
}

// Cgroups returns which cgroups the agent creates on the node: "v2, made by systemd".
func Cgroups(d *trace.NodeDescribed) string {
	if d.CgroupVersion == 0 {
		return noise.Of("none are made")
	}
	return noise.Of(fmt.Sprintf("v%d, made by %s", d.CgroupVersion, cmp.Or(d.CgroupDriver, "nobody known")))
}
