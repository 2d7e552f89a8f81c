package main

import (
	"strings"
	"testing"
)

// TestDeb reads the control file, the scripts and the list of configuration files with dpkg-deb.
func TestDeb(t *testing.T) {
	need(t, "dpkg-deb")
	file, dir := built.packages["deb"], t.TempDir()
	control := output(t, "dpkg-deb", "--field", file)
	has(t, control, "Package: kubeloupe\n", "Architecture: "+built.release.Arch+"\n", "Recommends: containerd\n", "Section: admin\n",
		"Description: Kubernetes node agent that shows everything it does\n", "Maintainer: ")
	// A snapshot is older than its release: 1.2.3~snapshot.
	has(t, control, "Version: "+strings.Replace(built.release.Version, "-", "~", 1)+"\n")
	output(t, "dpkg-deb", "--control", file, dir)
	has(t, output(t, "cat", dir+"/conffiles"), "/etc/default/kubeloupe\n", "/etc/kubeloupe/config.yaml\n")
	for _, s := range []string{"postinst", "prerm", "postrm"} {
		output(t, "sh", "-n", dir+"/"+s)
		if mode := output(t, "stat", "-c", "%a", dir+"/"+s); mode != "755\n" {
			t.Errorf("%s has the permissions %s", s, mode)
		}
	}
}

// TestRPM has rpm check the digests, and print what it knows.
func TestRPM(t *testing.T) {
	need(t, "rpm")
	file := built.packages["rpm"]
	has(t, output(t, "rpm", "--checksig", "--nosignature", file), "digests OK")
	query := func(args ...string) string {
		return output(t, "rpm", append([]string{"-qp", "--nosignature"}, append(args, file)...)...)
	}
	version, _, _ := strings.Cut(built.release.Version, "-")
	has(t, query("--queryformat", "%{NAME} %{VERSION} %{LICENSE} %{SUMMARY}|%{GROUP}"),
		"kubeloupe "+version, "Apache-2.0 Kubernetes node agent that shows everything it does|System Environment/Daemons")
	if got, want := query("--configfiles"), "/etc/default/kubeloupe\n/etc/kubeloupe/config.yaml\n"; got != want {
		t.Errorf("configuration files: %q, want %q", got, want)
	}
	has(t, query("--recommends"), "containerd\n")
	has(t, query("--scripts"), "postinstall scriptlet", "preuninstall scriptlet", "postuninstall scriptlet", "disable --now kubeloupe.service")
}

// TestAlpineAndArch reads the metadata that apk and pacman read.
func TestAlpineAndArch(t *testing.T) {
	for format, scripts := range map[string][]string{
		"apk":       {".post-install", ".pre-deinstall", ".post-deinstall"},
		"archlinux": {".INSTALL", ".MTREE"},
	} {
		t.Run(format, func(t *testing.T) {
			_, own := listing(t, format, built.packages[format])
			has(t, own[".PKGINFO"], "pkgname = kubeloupe\n", "pkgdesc = Kubernetes node agent", "license = Apache-2.0\n", "url = https://github.com/kubeloupe/kubeloupe\n")
			for _, s := range scripts {
				if own[s] == "" {
					t.Errorf("there is no %s", s)
				}
			}
			if format == "archlinux" {
				has(t, own[".PKGINFO"], "backup = etc/default/kubeloupe\n", "backup = etc/kubeloupe/config.yaml\n")
				has(t, own[".INSTALL"], "post_install()", "pre_remove()", "disable --now kubeloupe.service")
			}
		})
	}
}

func has(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in\n%s", w, text)
		}
	}
}
