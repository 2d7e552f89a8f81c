package podruntime

import (
	"errors"
	"strings"
	"testing"
)

func TestExplainDriver(t *testing.T) {
	for text, want := range map[string]string{
		`runc create failed: expected cgroupsPath to be of format "slice:prefix:name" for systemd cgroups, got "/kubepods/podx/y" instead`: "set cgroupDriver: systemd",
		"cri-o configured with systemd cgroup manager, but did not receive slice as parent: /kubepods/podx":                                "set cgroupDriver: systemd",
		"cri-o configured with cgroupfs cgroup manager, but received systemd slice as parent: kubepods-podx.slice":                         "set cgroupDriver: cgroupfs",
		"no space left on device": "",
	} {
		cause := errors.New(text)
		got := explainDriver(cause)
		if !errors.Is(got, cause) || !strings.HasPrefix(got.Error(), text) {
			t.Errorf("%q became %q", text, got)
		}
		if remedy := strings.TrimPrefix(got.Error(), text); !strings.Contains(remedy, want) || (want == "") != (remedy == "") {
			t.Errorf("%q: remedy %q, want %q", text, remedy, want)
		}
	}
}
