package kubeletlog_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBroughtAbout names the causes in logs of upstream's kubelet in which test/causes brought them about (make attach-causes): each is a
// scenario's, and its name ends with the verbosity. Each pod is here, also those of which nothing is to be said.
func TestBroughtAbout(t *testing.T) {
	want := map[string]map[string][]string{
		"KL01-pulls-v4":     {"first": nil, "second": {"KL01"}, "near": nil},
		"KL05-image-v2":     {"missing": {"KL05"}, "never": {"KL05"}, "clock": nil},
		"KL05-image-v4":     {"missing": {"KL05"}, "never": {"KL05"}, "clock": nil},
		"KL07-network-v2":   {"before": nil, "web": {"KL07"}},
		"KL07-network-v4":   {"before": nil, "web": {"KL07"}, "near": nil},
		"KL07-plugin-v2":    {"before": nil, "web": {"KL07"}},
		"KL07-plugin-v4":    {"before": nil, "web": {"KL07"}, "clock": nil},
		"KL08-reserved-v2":  {"before": nil, "web": {"KL08"}},
		"KL08-reserved-v4":  {"near": nil, "before": nil, "web": {"KL08", "KL15"}},
		"KL09-fsgroup-v2":   {"web": {"KL09"}, "near": nil},
		"KL10-attach-v2":    {"web": {"KL10"}, "plain": nil},
		"KL10-volume-v2":    {"web": {"KL10"}, "near": nil, "clock": nil},
		"KL10-volume-v4":    {"web": {"KL10"}, "near": nil, "clock": nil, "before": nil},
		"KL11-secret-v2":    {"web": {"KL11"}, "near": nil, "clock": nil},
		"KL11-secret-v4":    {"web": {"KL11"}, "near": nil, "clock": nil},
		"KL14-sandbox-v2":   {"web": {"KL14", "KL27"}, "near": nil},
		"KL14-sandbox-v4":   {"web": {"KL27", "KL14"}, "near": nil},
		"KL15-stopped-v2":   {"before": nil, "web": {"KL15", "KL16"}},
		"KL15-stopped-v4":   {"before": nil, "web": {"KL15"}},
		"KL17-finalizer-v4": {"held": {"KL17"}, "free": nil, "near": nil},
		"KL17-stubborn-v2":  {"web": {"KL17"}, "near": nil},
		"KL17-stubborn-v4":  {"web": {"KL17"}, "near": nil, "clock": nil},
		"KL18-file-v4":      {"near": nil, "5a1d4c1e-0000-4000-8000-0000000cafe1": {"KL18"}, "critical": nil},
		"KL18-mount-v4":     {"near": nil, "5a1d4c1e-0000-4000-8000-0000000cafe2": {"KL18"}},
		"KL21-init-v4":      {"web": {"KL21"}, "clock": nil, "near": nil},
		"KL22-preempted-v2": {"web": {"KL22"}, "near": nil, "critical": nil},
		"KL22-preempted-v4": {"web": {"KL22"}, "near": nil, "critical": nil},
		"KL27-crash-v2":     {"web": {"KL27"}, "clock": nil},
		"KL27-crash-v4":     {"web": {"KL27"}, "clock": nil},
	}
	files, err := filepath.Glob("testdata/causes/*.log.gz")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".log.gz"))
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), names); diff != "" {
		t.Errorf("the logs that there are (-want +got):\n%s", diff)
	}
	for name, pods := range want {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, _ := recorded(t, filepath.Join("causes", name+".log.gz"))
			if diff := cmp.Diff(pods, causes(t, text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
