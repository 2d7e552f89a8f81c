package metrics

import (
	"strings"
	"unicode"
)

// Operation returns upstream's operation_type for a CRI method: RunPodSandbox becomes run_podsandbox. Upstream:
// pkg/kubelet/kuberuntime/instrumented_services.go.
func Operation(method string) string {
	if method == "UpdateContainerResources" {
		return "update_container"
	}
	var b strings.Builder
	for i, r := range strings.ReplaceAll(method, "PodSandbox", "Podsandbox") {
		if unicode.IsUpper(r) {
			if i > 0 {
				b.WriteByte('_')
			}
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// sizeBucket returns upstream's label for an image size in bytes. Upstream: pkg/kubelet/metrics/metrics.go,
// GetImageSizeBucket.
func sizeBucket(bytes int64) string {
	const mb, gb = 1 << 20, 1 << 30
	for _, b := range []struct {
		above int64
		label string
	}{
		{100 * gb, "GT100GB"},
		{60 * gb, "60GB-100GB"},
		{40 * gb, "40GB-60GB"},
		{30 * gb, "30GB-40GB"},
		{20 * gb, "20GB-30GB"},
		{10 * gb, "10GB-20GB"},
		{5 * gb, "5GB-10GB"},
		{1 * gb, "1GB-5GB"},
		{500 * mb, "500MB-1GB"},
		{100 * mb, "100MB-500MB"},
		{10 * mb, "10MB-100MB"},
		{0, "0-10MB"},
	} {
		if bytes > b.above {
			return b.label
		}
	}
	return "N/A"
}
