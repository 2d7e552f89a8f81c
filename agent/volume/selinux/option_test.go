package selinux

import (
	"strings"
	"testing"
)

func TestLabelIn(t *testing.T) {
	for options, want := range map[string]string{
		"": "", "rw,relatime": "", "rw,seclabel": "",
		"rw,context=system_u:object_r:container_file_t:s0,relatime":         "system_u:object_r:container_file_t:s0",
		`rw,context="system_u:object_r:container_file_t:s0:c1,c2",relatime`: "system_u:object_r:container_file_t:s0:c1,c2",
		`context="system_u:object_r:container_file_t:s0:c1,c2"`:             "system_u:object_r:container_file_t:s0:c1,c2",
		"rw,fscontext=system_u:object_r:fs_t:s0,rootcontext=a":              "",
	} {
		if got := LabelIn(strings.Split(options, ",")); got != want {
			t.Errorf("%s: %q, want %q", options, got, want)
		}
	}
	const label = "system_u:object_r:container_file_t:s0:c1,c2"
	if got := LabelIn(strings.Split(MountOption(label), ",")); got != label {
		t.Errorf("%s: %q", MountOption(label), got)
	}
}
