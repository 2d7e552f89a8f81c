package kubeletlog_test

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorded is a log of upstream's kubelet that test/kubeletlogs made, with all its lines and with those before the pods were deleted.
func recorded(t *testing.T, name string) (all, running string) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var a, r strings.Builder
	deleted := false
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		deleted = deleted || strings.Contains(lines.Text(), `"SyncLoop DELETE"`)
		a.WriteString(lines.Text() + "\n")
		if !deleted {
			r.WriteString(lines.Text() + "\n")
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return a.String(), r.String()
}

// TestRecorded names the causes in logs of upstream's kubelet.
func TestRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		level          int
		running, ended map[string][]string
	}{
		"v2.log.gz": {
			2,
			map[string][]string{"web": nil, "probed": nil, "stubborn": nil, "full": nil, "crash": {"KL27"}, "no-secret": {"KL11"}, "no-image": {"KL05"}},
			map[string][]string{"web": nil, "probed": nil, "stubborn": {"KL17"}, "full": nil, "crash": nil, "no-secret": {"KL11"}, "no-image": {"KL05"}},
		},
		"v3.log.gz": {
			3,
			map[string][]string{"web": {"KL21"}, "probed": nil, "stubborn": nil, "full": {"KL21"}, "crash": {"KL27"}, "no-secret": {"KL11"}, "no-image": {"KL05"}},
			map[string][]string{"web": {"KL21"}, "probed": nil, "stubborn": {"KL17"}, "full": {"KL21"}, "crash": nil, "no-secret": {"KL11"}, "no-image": {"KL05"}},
		},
		"v4.log.gz": {
			4,
			map[string][]string{"web": {"KL21"}, "probed": nil, "stubborn": nil, "full": {"KL21"}, "crash": {"KL27"}, "no-secret": {"KL11"}, "no-image": {"KL05"}},
			map[string][]string{"web": {"KL21"}, "probed": nil, "stubborn": {"KL17"}, "full": {"KL21"}, "crash": nil, "no-secret": {"KL11"}, "no-image": {"KL05"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			whole, running := recorded(t, name)
			if diff := cmp.Diff(c.running, causes(t, running)); diff != "" {
				t.Errorf("before the deletion (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.ended, causes(t, whole)); diff != "" {
				t.Errorf("after it (-want +got):\n%s", diff)
			}
			if _, lost, told := all(t, whole); told.Level != c.level || lost != 0 || told.Cut != 0 {
				t.Errorf("told %+v, lost %d, want level %d and nothing missing", told, lost, c.level)
			}
		})
	}
}
