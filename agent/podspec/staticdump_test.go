package podspec

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The dump has the names of upstream's internal types, and omits nothing.
func TestDump(t *testing.T) {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"b": "2", "a": "1"}}}
	p.Spec.Containers = []v1.Container{{Name: "c", Args: []string{"x", "y"}}}
	var out strings.Builder
	dump(&out, p)
	for _, want := range []string{"(*core.Pod)", "Labels:(map[string]string)map[a:1 b:2]", "Args:([]string)[x y]", "Containers:([]core.Container)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the dump lacks %s:\n%s", want, out.String())
		}
	}
}
