package kubeletlog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
