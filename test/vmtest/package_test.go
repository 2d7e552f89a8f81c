package vmtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackage installs our deb on a node whose pods run, and removes it: the unit starts as notify, the pods stay in each step.
func TestPackage(t *testing.T) {
	b := setup(t)
	b.start(t, kinds())
	check := b.stays(t, "limited", "plain", "net")
	deb := buildDeb(t)

	// What the machine has of kubeloupe comes before the files of a package.
	b.Run(t, "systemctl disable --now kubeloupe; mkdir -p /root/own; mv /etc/systemd/system/kubeloupe.service /usr/local/bin/kubeloupe /root/own/; systemctl daemon-reload")
	b.later(t, "dpkg --purge kubeloupe; mv /root/own/kubeloupe.service /etc/systemd/system/; mv /root/own/kubeloupe /usr/local/bin/; "+
		"systemctl daemon-reload; systemctl enable --now kubeloupe")
	send := b.VM.Command(t.Context(), "cat > /root/kubeloupe.deb")
	file, err := os.Open(deb)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	send.Stdin = file
	if out, err := send.CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v: %s", deb, err, out)
	}
	b.Run(t, "dpkg --install /root/kubeloupe.deb")
	b.Says(t, "systemctl is-active kubeloupe; systemctl is-enabled kubeloupe; true", "inactive\ndisabled")

	b.Run(t, "systemctl enable --now kubeloupe") // returns when the agent is ready
	b.Says(t, "systemctl show -p Type -p FragmentPath -p ActiveState kubeloupe", "Type=notify")
	b.Says(t, "systemctl show -p FragmentPath --value kubeloupe", "/lib/systemd/system/kubeloupe.service")
	b.Says(t, `readlink /proc/$(`+pidOf+`)/exe`, "/usr/bin/kubeloupe")
	b.Says(t, "kubeloupe --version", "kubeloupe ")
	b.made(t, "kubeloupe")
	b.Create(t, "of-package")
	b.Runs(t, "of-package")
	check(t)

	b.Run(t, "dpkg --remove kubeloupe")
	b.Says(t, "systemctl is-active kubeloupe; systemctl list-unit-files --no-legend kubeloupe.service | wc -l", "inactive\n0")
	b.Says(t, "test -e /usr/bin/kubeloupe || echo gone", "gone")
	for _, name := range []string{"limited", "plain", "net", "of-package"} {
		p := b.pod(t, name)
		for _, s := range p.Status.ContainerStatuses {
			b.Says(t, "ctr -n k8s.io tasks ls | grep "+strings.TrimPrefix(s.ContainerID, "containerd://"), "RUNNING")
		}
	}
}

// buildDeb builds the package of this work tree, as a release does.
func buildDeb(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), "go", "run", ".", "-out", dir)
	c.Dir = "../packagecheck"
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("packages: %v: %s", err, out)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(found) != 1 {
		t.Fatalf("debs: %v, %v", found, err)
	}
	return found[0]
}
