package discover

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPluginDirs(t *testing.T) {
	for name, tc := range map[string]struct {
		runtime string
		args    []string
		files   map[string]string
		want    []string
	}{
		"no configuration": {"containerd", nil, nil, []string{"/opt/cni/bin"}},
		"containerd 2": {"containerd", []string{"containerd", "--config", "/etc/c.toml"}, map[string]string{"/etc/c.toml": `
[plugins.'io.containerd.image-verifier.v1.bindir']
  bin_dir = "/verifiers"
[plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["/a/bin", '/b/bin/',
      "relative"] # both
    conf_dir = "/c"
[plugins.other]
  bin_dir = "/other"
`}, []string{"/a/bin", "/b/bin"}},
		"containerd 1": {"containerd", []string{"containerd", "-c=/etc/c.toml"}, map[string]string{"/etc/c.toml": "[plugins.\"io.containerd.grpc.v1.cri\".cni]\nbin_dir = \"/k3s/bin\"\n"}, []string{"/k3s/bin"}},
		"CRI-O": {"cri-o", nil, map[string]string{
			"/etc/crio/crio.conf":               "[crio.network]\nplugin_dirs = [\n\t\"/opt/cni/bin\",\n]\n",
			"/etc/crio/crio.conf.d/10-cni.conf": "[crio.network]\nplugin_dirs = [ \"/usr/libexec/cni\" ]\n",
		}, []string{"/usr/libexec/cni"}},
		"CRI-O's arguments": {"cri-o", []string{"crio", "--config", "/c.conf", "--config-dir", "/d"}, map[string]string{
			"/c.conf": "[crio.network]\nplugin_dirs = [\"/a\"]\n", "/d/1.conf": "[crio.network]\nplugin_dirs = [\"/b\"]\n",
		}, []string{"/b"}},
		"CRI-O's defaults": {"cri-o", nil, map[string]string{"/etc/crio/crio.conf": "[crio.runtime]\n# plugin_dirs = [\"/x\"]\n"}, []string{"/opt/cni/bin", "/usr/libexec/cni"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(proc{pid: 7, exe: "/usr/bin/x", args: tc.args, files: tc.files})
			p, err := process(m, 7)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, cniDirs(m, p, tc.runtime)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
