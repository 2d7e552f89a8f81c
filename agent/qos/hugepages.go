package qos

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// HugePages sums huge page quantities by page size, both in bytes. Other names than hugepages-SIZE are omitted.
//
// Upstream: pkg/kubelet/cm/helpers_linux.go, HugePageLimits.
func HugePages(list v1.ResourceList) map[int64]int64 {
	out := map[int64]int64{}
	for name, q := range list {
		text, ok := strings.CutPrefix(string(name), v1.ResourceHugePagesPrefix)
		if !ok {
			continue
		}
		if size, err := resource.ParseQuantity(text); err == nil {
			out[size.Value()] += q.Value()
		}
	}
	return out
}

// PageSize formats a huge page size in bytes as in cgroup file names and the CRI: 2MB, 1GB.
//
// Upstream: pkg/apis/core/v1/helper/helpers.go, HugePageUnitSizeFromByteSize.
func PageSize(bytes int64) string {
	units := []string{"B", "KB", "MB", "GB", "TB", "PB"}
	i := 0
	for bytes > 0 && bytes%1024 == 0 && i < len(units)-1 {
		bytes /= 1024
		i++
	}
	return fmt.Sprintf("%d%s", bytes, units[i])
}
