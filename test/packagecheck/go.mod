module github.com/kubeloupe/kubeloupe/test/packagecheck

go 1.26.4

require (
	github.com/goreleaser/goreleaser/v2 v2.17.0
	github.com/goreleaser/nfpm/v2 v2.48.0
	go.yaml.in/yaml/v3 v3.0.4
)
