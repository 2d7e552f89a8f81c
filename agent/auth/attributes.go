package auth

import (
	"net/http"
	"strings"
)

// Verb returns the API verb of an HTTP method.
func Verb(method string) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodGet:
		return "get"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	return ""
}

// Subresources returns which subresources of the node a path needs. One of them is sufficient; they must be checked in this order.
//
// Upstream: pkg/kubelet/server/auth.go, GetRequestAttributes.
func Subresources(path string) []string {
	under := func(p string) bool {
		rest, ok := strings.CutPrefix(path, p)
		return ok && (rest == "" || rest[0] == '/')
	}
	switch {
	case under("/stats"):
		return []string{"stats"}
	case under("/metrics"):
		return []string{"metrics"}
	case under("/logs"):
		return []string{"log"} // for example pods/log
	case under("/checkpoint"):
		return []string{"checkpoint"}
	case under("/statusz"):
		return []string{"statusz"}
	case under("/flagz"):
		return []string{"configz"}
	case under("/pods"), under("/allocatedPods"), under("/runningpods"):
		return []string{"pods", "proxy"}
	case under("/healthz"):
		return []string{"healthz", "proxy"}
	case under("/configz"):
		return []string{"configz", "proxy"}
	}
	return []string{"proxy"}
}
