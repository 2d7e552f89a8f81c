package bundle_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/session"
)

// TestShares measures, on starts of the lab's, how much of each start's critical path no record covers, by who was listened to. With -v it
// prints the table that docs/attach.md has. The targets are those for single pods.
func TestShares(t *testing.T) {
	sets := []struct {
		name  string
		files []string
		most  float64 // the target; 0 where there is none
	}{
		{"container runtime's log alone", []string{"v2.containerd.log.gz"}, 0},
		{"kubelet's log at V2", []string{"v2.log.gz"}, 0},
		{"both, V2", []string{"v2.log.gz", "v2.containerd.log.gz"}, 0.35},
		{"kubelet's log at V3", []string{"v3.log.gz"}, 0},
		{"both, V3", []string{"v3.log.gz", "v3.containerd.log.gz"}, 0},
		{"kubelet's log at V4", []string{"v4.log.gz"}, 0.10},
		{"both, V4", []string{"v4.log.gz", "v4.containerd.log.gz"}, 0.10},
		{"CRI-O's log alone", []string{"crio-v2.crio.log.gz"}, 0},
		{"CRI-O's log alone, at debug", []string{"crio-debug.crio.log.gz"}, 0},
		{"CRI-O's log and the kubelet's at V2", []string{"crio-v2.log.gz", "crio-v2.crio.log.gz"}, 0},
		{"CRI-O's log and the kubelet's at V3", []string{"crio-v3.log.gz", "crio-v3.crio.log.gz"}, 0},
		{"CRI-O's log at debug and the kubelet's at V2", []string{"crio-debug.log.gz", "crio-debug.crio.log.gz"}, 0},
	}
	pods := []string{"stubborn", "probed", "web", "full"}
	t.Logf("| seen by | %s |", strings.Join(pods, " | "))
	for _, set := range sets {
		var paths []string
		for _, f := range set.files {
			paths = append(paths, filepath.Join(data, f))
		}
		recs, _ := all(t, open(t, paths...))
		s := session.New(session.Options{})
		for i := range recs {
			s.Apply(&recs[i])
		}
		row := make([]string, len(pods))
		for _, l := range s.Runs() {
			i := slices.Index(pods, l.Pod.Name)
			w, err := l.Waterfall(s.Last())
			if i < 0 || l.Pod.Namespace != "shop" || err != nil || w.Started <= 0 {
				continue
			}
			share := float64(w.Unexplained) / float64(w.Started)
			if row[i] = fmt.Sprintf("%.0f %%", 100*share); set.most > 0 && share > set.most {
				t.Errorf("%s, %s: %s of the start is unexplained, want at most %.0f %%", set.name, l.Pod.Name, row[i], 100*set.most)
			}
		}
		if slices.Contains(row, "") {
			t.Errorf("%s: not all starts were seen: %q", set.name, row)
		}
		t.Logf("| %s | %s |", set.name, strings.Join(row, " | "))
	}
}
