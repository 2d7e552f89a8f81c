// Package ginkgoreport reads how Kubernetes' tests ended, from the report that ginkgo writes (--json-report).
//
// The package runs no goroutines, and publishes no events.
package ginkgoreport
