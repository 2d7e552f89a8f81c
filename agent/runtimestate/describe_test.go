package runtimestate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func handler(name string, readOnly, users bool) *runtimeapi.RuntimeHandler {
	return &runtimeapi.RuntimeHandler{Name: name, Features: &runtimeapi.RuntimeHandlerFeatures{RecursiveReadOnlyMounts: readOnly, UserNamespaces: users}}
}

// The runtime's features are published when they are known, and again only when they change; a failed call does not
// change them.
func TestDescribed(t *testing.T) {
	rec := tracetest.New(t)
	f := &fake{err: status.Error(codes.Unavailable, "not yet")}
	s, err := New(f, rec.Bus())
	if err != nil {
		t.Fatal(err)
	}
	answers := func(err error, features *runtimeapi.RuntimeFeatures, handlers ...*runtimeapi.RuntimeHandler) {
		f.err, f.features, f.handlers = err, features, handlers
		s.Check(t.Context())
		s.Check(t.Context())
	}
	s.Check(t.Context())
	policy := &runtimeapi.RuntimeFeatures{SupplementalGroupsPolicy: true}
	answers(nil, nil, &runtimeapi.RuntimeHandler{Name: "runc"}, handler("", true, true))
	answers(nil, nil, handler("", true, true), handler("runc", false, false)) // the same in another order
	answers(status.Error(codes.Unavailable, "gone"), nil)
	answers(nil, policy, handler("", true, true), handler("kata", true, false))
	answers(nil, policy, handler("", true, true), handler("kata", false, true))

	runc, kata := trace.RuntimeHandler{Name: "runc"}, trace.RuntimeHandler{Name: "kata", RecursiveReadOnlyMounts: true}
	all := trace.RuntimeHandler{RecursiveReadOnlyMounts: true, UserNamespaces: true}
	features := &trace.RuntimeFeatures{SupplementalGroupsPolicy: true}
	want := []trace.RuntimeDescribed{
		{Handlers: []trace.RuntimeHandler{all, runc}},
		{
			Changed:  []string{"handler kata", "handler runc gone", "features reported: true", "supplemental groups policy false → true"},
			Handlers: []trace.RuntimeHandler{all, kata}, Features: features,
		},
		{
			Changed:  []string{"handler kata: recursive read-only mounts true → false", "handler kata: user namespaces false → true"},
			Handlers: []trace.RuntimeHandler{all, {Name: "kata", UserNamespaces: true}}, Features: features,
		},
	}
	if d := cmp.Diff(want, tracetest.Events[trace.RuntimeDescribed](rec)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
