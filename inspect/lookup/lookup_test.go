package lookup_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/lookup"
	"github.com/kubeloupe/kubeloupe/trace"
)

func pods(refs ...string) (out []trace.Pod) {
	for _, ref := range refs {
		ns, name, _ := strings.Cut(ref, "/")
		out = append(out, trace.Pod{Namespace: ns, Name: name, UID: ref})
	}
	return out
}

func TestPod(t *testing.T) {
	some := pods("shop/web-7f9c", "shop/db", "shop/db", "kube-system/dns", "infra/db", "shop/cart", "default/cart", "shop/queue")
	for _, c := range []struct {
		ref, found, err string
		of              []trace.Pod
	}{
		{ref: "shop/db", found: "shop/db", of: some},
		{ref: "dns", found: "kube-system/dns", of: some},
		{ref: "cart", found: "default/cart", of: some},
		{ref: "db", err: `pod "db" exists in the namespaces infra, shop: use NAMESPACE/NAME`, of: some},
		{ref: "shop/web", err: `pod "shop/web" not found (did you mean shop/web-7f9c?)`, of: some},
		{ref: "default/db", err: `pod "default/db" not found (did you mean infra/db or shop/db?)`, of: some},
		{ref: "zzzzzz", err: `pod "zzzzzz" not found: none of the 7 known pods has a similar name`, of: some},
		{ref: "zzzzzz", err: `pod "zzzzzz" not found: must be one of a/b, c/d`, of: pods("c/d", "a/b")},
		{ref: "web", err: `pod "web" not found: no pods are known`, of: pods("/")},
		{ref: "a/b/c", err: `pod "a/b/c": must be NAMESPACE/NAME or NAME`, of: some},
		{ref: "/db", err: `pod "/db": must be NAMESPACE/NAME or NAME`, of: some},
		{ref: "", err: `pod "": must be NAMESPACE/NAME or NAME`, of: some},
	} {
		got, err := lookup.Pod(c.ref, slices.Values(c.of))
		if err == nil && got.String() != c.found || err != nil && err.Error() != c.err {
			t.Errorf("%q: %q, %v", c.ref, got, err)
		}
		if missing := errors.As(err, new(*lookup.NotFoundError)); missing != strings.Contains(c.err, "not found") {
			t.Errorf("%q: a NotFoundError: %t", c.ref, missing)
		}
	}
}

func TestCheck(t *testing.T) {
	for name, want := range map[string]string{
		"cri.call": "",
		"cri.cal":  `kind "cri.cal" not found (did you mean cri.call?): must be one of agent, cri.call`,
		"weather":  `kind "weather" not found: must be one of agent, cri.call`,
	} {
		err := lookup.Check("kind", name, []string{"agent", "cri.call"})
		if err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := error(&lookup.NotFoundError{What: "container", Name: "x", In: "pod shop/web", Known: []string{"web"}}); err.Error() != `container "x" not found in pod shop/web: must be one of web` {
		t.Error(err)
	}
}

func TestIn(t *testing.T) {
	for _, c := range []struct{ namespace, ref, want, err string }{
		{"", "web", "web", ""},
		{"", "shop/web", "shop/web", ""},
		{"shop", "web", "shop/web", ""},
		{"shop", "web#2", "shop/web#2", ""},
		{"shop", "shop/web", "shop/web", ""},
		{"shop", "infra/web", "", `pod "infra/web" is not in the namespace shop of --namespace: remove one of them`},
	} {
		got, err := lookup.In(c.namespace, c.ref)
		if got != c.want || err == nil && c.err != "" || err != nil && err.Error() != c.err {
			t.Errorf("%q, %q: %q, %v", c.namespace, c.ref, got, err)
		}
	}
	for name, ok := range map[string]bool{"kube-system": true, "": false, "Shop": false, "a/b": false, strings.Repeat("a", 64): false} {
		if err := lookup.CheckNamespace(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
