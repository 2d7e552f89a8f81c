package kubeletlog

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/trace"
)

func TestRequested(t *testing.T) {
	const node = "https://10.0.0.1:6443"
	for asked, want := range map[string]struct {
		pod    string
		object trace.Target
	}{
		"/api/v1/namespaces/shop/secrets?allowWatchBookmarks=true&fieldSelector=metadata.name%3Dkeys&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&watch=true": {
			object: trace.Target{Kind: trace.TargetSecret, Namespace: "shop", Name: "keys"},
		},
		"/api/v1/namespaces/shop/configmaps?fieldSelector=metadata.name%3Dapp.conf&limit=500&resourceVersion=0": {
			object: trace.Target{Kind: trace.TargetConfigMap, Namespace: "shop", Name: "app.conf"},
		},
		"/api/v1/namespaces/shop/configmaps/app.conf":           {object: trace.Target{Kind: trace.TargetConfigMap, Namespace: "shop", Name: "app.conf"}},
		"/api/v1/namespaces/shop/persistentvolumeclaims/data":   {object: trace.Target{Kind: trace.TargetClaim, Namespace: "shop", Name: "data"}},
		"/api/v1/namespaces/shop/serviceaccounts/default/token": {object: trace.Target{Kind: trace.TargetToken, Namespace: "shop", Name: "default"}},
		"/api/v1/namespaces/shop/pods/web/status":               {pod: "shop/web"},
		"/k8s/clusters/c-1/api/v1/namespaces/shop/secrets/keys": {object: trace.Target{Kind: trace.TargetSecret, Namespace: "shop", Name: "keys"}},
		// Of no single object, or of none that pods wait for.
		"/api/v1/namespaces/shop/secrets":                                                {},
		"/api/v1/namespaces/shop/secrets?labelSelector=a%3Db":                            {},
		"/api/v1/namespaces/shop/secrets?fieldSelector=metadata.name%3Da%2Ctype%3Dother": {},
		"/api/v1/namespaces/shop/serviceaccounts/default":                                {},
		"/api/v1/namespaces/shop/pods":                                                   {},
		"/api/v1/namespaces/shop":                                                        {},
		"/api/v1/namespaces//secrets/keys":                                               {},
		"/api/v1/nodes/node-1/status?timeout=10s":                                        {},
		"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1":          {},
		"/api/v1/namespaces/shop/secrets/" + strings.Repeat("x", maxURL):                 {},
		"%zz": {},
	} {
		pod, object := requested(node + asked)
		if pod != want.pod || object != want.object {
			t.Errorf("%.120s: %q, %s", asked, pod, cmp.Diff(want.object, object))
		}
	}
}

// TestWaitedTwice: client-go writes a line of a wait over a second twice from V3 on. That is one wait; another request's is another.
func TestWaitedTwice(t *testing.T) {
	at := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	entry := func(after time.Duration, delay, verb, asked string) *klog.Entry {
		return &klog.Entry{Time: at.Add(after), Msg: "Waited before sending request", Fields: []klog.Field{{Key: "delay", Value: delay}, {Key: "reason", Value: "client-side throttling"}, {Key: "verb", Value: verb}, {Key: "URL", Value: asked}}}
	}
	const keys = "https://h/api/v1/namespaces/shop/secrets/keys"
	f := NewFold()
	for _, e := range []*klog.Entry{
		entry(0, "4.5s", "GET", keys), entry(10*time.Microsecond, "4.5s", "GET", keys), // one
		entry(20*time.Millisecond, "4.5s", "GET", keys), // two: later
		entry(21*time.Millisecond, "4.6s", "GET", keys), // three: of another duration
		entry(22*time.Millisecond, "4.6s", "PUT", keys), // four: another request
		entry(23*time.Millisecond, "4.6s", "PUT", keys+"2"),
		{Time: at.Add(24 * time.Millisecond), Msg: "Waited for 3s due to client-side throttling, not priority and fairness, request: GET:" + keys, Free: true},
		{Time: at.Add(25 * time.Millisecond), Msg: "Waited for 3s due to client-side throttling, not priority and fairness, request: GET:" + keys, Free: true},
	} {
		f.Apply(e)
	}
	f.Flush()
	waits, lines := 0, 0
	for r, _, ok := f.Next(true); ok; r, _, ok = f.Next(true) {
		switch r.Event.(type) {
		case *trace.Wait:
			if r.Edge == trace.EdgeEnd {
				waits++
			}
		case *trace.Log:
			lines++
		}
	}
	if waits != 6 || lines != 0 {
		t.Errorf("%d waits, %d lines", waits, lines)
	}
}
