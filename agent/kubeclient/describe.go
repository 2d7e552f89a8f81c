package kubeclient

import (
	"net/http"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// describe returns the verb and object of a request, from its method and path:
// /api/v1/namespaces/shop/pods/cart/status, /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/lab-1.
func describe(client trace.APIClient, req *http.Request) trace.APICall {
	call := trace.APICall{Client: client, Verb: trace.APIVerb(strings.ToLower(req.Method)), Resource: req.URL.Path}
	// A server's URL may have a path: the API begins at "api" or "apis".
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	for len(parts) > 0 && parts[0] != "api" && parts[0] != "apis" {
		parts = parts[1:]
	}
	skip := 2 // api, version
	if len(parts) > 0 && parts[0] == "apis" {
		skip = 3 // apis, group, version
	}
	if len(parts) <= skip {
		return call
	}
	parts = parts[skip:]
	if parts[0] == "namespaces" && len(parts) > 2 {
		call.Namespace, parts = parts[1], parts[2:]
	}
	call.Resource = parts[0]
	if len(parts) > 1 {
		call.Name = parts[1]
	}
	if len(parts) > 2 {
		call.Resource += "/" + strings.Join(parts[2:], "/")
	}
	call.Verb = verb(req, call.Name)
	if name, ok := strings.CutPrefix(req.URL.Query().Get("fieldSelector"), "metadata.name="); ok && call.Name == "" {
		call.Name = name
	}
	return call
}

func verb(req *http.Request, name string) trace.APIVerb {
	switch req.Method {
	case http.MethodPost:
		return trace.APICreate
	case http.MethodPut:
		return trace.APIUpdate
	case http.MethodPatch:
		return trace.APIPatch
	case http.MethodDelete:
		if name == "" {
			return trace.APIDeleteCollection
		}
		return trace.APIDelete
	}
	if w := req.URL.Query().Get("watch"); w == "true" || w == "1" {
		return trace.APIWatch
	}
	if name == "" {
		return trace.APIList
	}
	return trace.APIGet
}
