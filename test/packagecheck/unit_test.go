package main

import (
	"os"
	"strings"
	"testing"
)

// TestUnit has systemd read the unit: a directive that it does not know, a program that is not there or a section that is missing is said.
func TestUnit(t *testing.T) {
	need(t, "systemd-analyze")
	r := root(t.TempDir())
	const units = "usr/lib/systemd/system"
	r.must(t, os.MkdirAll(r.path(units), 0o755))
	r.must(t, os.MkdirAll(r.path("usr/bin"), 0o755))
	if _, err := os.Stat("/" + units); err == nil {
		output(t, "cp", "-r", "/"+units+"/.", r.path(units))
	} else {
		output(t, "cp", "-r", "/lib/systemd/system/.", r.path(units))
	}
	r.write(t, "usr/bin/kubeloupe", "#!/bin/sh\n", 0o755)
	text, err := os.ReadFile("deploy/systemd/kubeloupe.service")
	r.must(t, err)
	verify := func(text string) string {
		r.write(t, units+"/kubeloupe.service", text, 0o644)
		out, err := combined(t, "systemd-analyze", "verify", "--man=no", "--root="+string(r), "kubeloupe.service")
		if err != nil {
			out += err.Error()
		}
		return out
	}
	if got := verify(string(text)); strings.Contains(got, "kubeloupe") {
		t.Errorf("systemd-analyze says\n%s", got)
	}
	if got := verify(strings.Replace(string(text), "LockPersonality=", "LockPersonalty=", 1)); !strings.Contains(got, "LockPersonalty") {
		t.Errorf("systemd-analyze does not see a directive that is misspelt: %q", got)
	}
	for _, want := range []string{
		"\nType=notify\n", "\nWatchdogSec=60\n", "\nKillMode=process\n", "\nConflicts=kubelet.service\n", "\nWantedBy=multi-user.target\n",
		"\nEnvironmentFile=-/etc/default/kubeloupe\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the unit has no line %s", strings.TrimSpace(want))
		}
	}
	// Each of these gives the unit a mount namespace of its own, in which mounts stay that containers need.
	for _, bad := range []string{"Protect", "Private", "ReadOnlyPaths=", "InaccessiblePaths=", "BindPaths=", "TemporaryFileSystem=", "RootDirectory=", "DynamicUser=", "RestrictSUIDSGID=", "NoNewPrivileges="} {
		if strings.Contains(string(text), "\n"+bad) {
			t.Errorf("the unit has %s", bad)
		}
	}
}
