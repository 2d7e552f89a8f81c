package selinux

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// A label has the type and role of the policy, and the user and level of the options.
func TestLabelOfAPolicy(t *testing.T) {
	const (
		config = "etc/selinux/config"
		lxc    = "etc/selinux/targeted/contexts/lxc_contexts"
		shared = "usr/share/containers/selinux/contexts"
		// Fedora's files.
		typed   = "# a comment\nSELINUX=enforcing\nSELINUXTYPE=targeted\n"
		labels  = "process = \"system_u:system_r:container_t:s0\"\n;file = \"no\"\nfile = \"system_u:object_r:container_file_t:s0\"\nro_file=\"system_u:object_r:container_ro_file_t:s0\"\n"
		another = "process = \"a:b:c:s0\"\nfile = \"u:r:shared_t:s0\"\n"
	)
	level := &v1.SELinuxOptions{Type: "spc_t", Role: "x_r", Level: "s0:c1,c2"}
	for _, tc := range []struct {
		name  string
		files map[string]string
		o     *v1.SELinuxOptions
		want  string
	}{
		{"Fedora", map[string]string{config: typed, lxc: labels}, level, "system_u:object_r:container_file_t:s0:c1,c2 <nil>"},
		{"another user", map[string]string{config: typed, lxc: labels}, &v1.SELinuxOptions{User: "me_u", Level: "s0"}, "me_u:object_r:container_file_t:s0 <nil>"},
		{"of containers", map[string]string{config: typed, lxc: labels, shared: another}, level, "u:r:shared_t:s0:c1,c2 <nil>"},
		{"no policy", nil, level, " <nil>"},
		{"no labels for containers", map[string]string{config: typed}, level, " <nil>"},
		{"no label for processes", map[string]string{config: typed, lxc: "file = \"a:b:c:s0\"\n"}, level, " <nil>"},
		{"not a label", map[string]string{config: typed, lxc: "process = \"a\"\nfile = \"a:b\"\n"}, level, ` the node's SELinux policy has the label "a:b" for containers' files: want user:role:type:level`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			for path, text := range tc.files {
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := ofRoot(root)(tc.o)
			if text := fmt.Sprint(got, " ", err); text != tc.want {
				t.Errorf("got %s, want %s", text, tc.want)
			}
		})
	}
}
