package selinux

import (
	"errors"
	"strings"
	"testing"
)

// All directories are labeled, also after one that cannot be.
func TestLabelForPlugins(t *testing.T) {
	var got []string
	err := labelAll([]string{"/a", "/b", "/c"}, func(path, label string) error {
		got = append(got, path+" "+label)
		if path == "/b" {
			return errors.New("not supported")
		}
		return nil
	})
	const label = "system_u:object_r:container_file_t:s0"
	if all := strings.Join(got, ", "); all != "/a "+label+", /b "+label+", /c "+label {
		t.Errorf("got %s", all)
	}
	if err == nil || err.Error() != "label /b with "+label+": not supported" {
		t.Errorf("got %v", err)
	}
}
