package server

import (
	"net/http/httptest"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A static pod has the kind of its manifest, the items of a list have none.
func TestItemsHaveNoKind(t *testing.T) {
	w := httptest.NewRecorder()
	writePods(w, []v1.Pod{{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "fixed"}}})
	if got := w.Body.String(); !strings.Contains(got, `"items":[{"metadata":{"name":"fixed"}`) || !strings.HasPrefix(got, `{"kind":"PodList","apiVersion":"v1"`) {
		t.Error(got)
	}
}

// allocated are pods shop/NAME, by name.
type allocated map[string]*v1.Pod

func (a allocated) Pods() []v1.Pod {
	var out []v1.Pod
	for _, p := range a {
		out = append(out, *p)
	}
	return out
}

func (a allocated) Pod(namespace, name string) *v1.Pod {
	if namespace != "shop" {
		return nil
	}
	return a[name]
}

// The pods' allocations are served with the feature gate only; their rights are those of /pods.
func TestAllocatedPods(t *testing.T) {
	of := func(name string) *v1.Pod {
		return &v1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("u-" + name)}}
	}
	pods := allocated{"b": of("b"), "a": of("a")}
	for name, change := range map[string]func(*Config){
		"on": func(c *Config) { c.Allocated = pods }, "off": nil, "no debugging handlers": func(c *Config) { c.Allocated, c.Debug.Handlers = pods, false },
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, change)
			for _, tc := range []struct {
				method, path, token string
				code                int
				body                string
			}{
				{"GET", "/allocatedPods", "", 401, "Unauthorized"},
				{"GET", "/allocatedPods", "reader", 200, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"a","namespace":"shop","uid":"u-a"},`},
				{"GET", "/allocatedPods/", "root", 200, `{"metadata":{"name":"b",`},
				{"GET", "/allocatedPods/shop/a", "reader", 200, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"shop","uid":"u-a"},`},
				{"GET", "/allocatedPods/shop/a/u-a", "root", 200, `{"kind":"Pod",`},
				{"GET", "/allocatedPods/shop/a/u-b", "root", 404, "pod not found"},
				{"GET", "/allocatedPods/shop/none", "root", 404, "pod not found"},
				{"GET", "/allocatedPods/else/a", "root", 404, "pod not found"},
				{"GET", "/allocatedPods/shop", "root", 404, ""},
				{"POST", "/allocatedPods", "root", 405, ""},
				{"POST", "/allocatedPods/shop/a", "root", 405, ""},
			} {
				if name != "on" && tc.code != 401 {
					tc.code, tc.body = 404, "404 page not found"
				}
				if code, body := w.ask(t, tc.method, tc.path, tc.token, ""); code != tc.code || !strings.Contains(body, tc.body) {
					t.Errorf("%s %s by %q: %d %q, want %d and %q", tc.method, tc.path, tc.token, code, body, tc.code, tc.body)
				}
			}
		})
	}
}
