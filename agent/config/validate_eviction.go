package config

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/allocatable"
)

// evictionSignals are the valid signals of thresholds.
//
// Upstream: pkg/kubelet/eviction/api/types.go.
func evictionSignals() []string {
	return []string{
		"memory.available", "allocatableMemory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available",
		"imagefs.inodesFree", "containerfs.available", "containerfs.inodesFree", "pid.available",
	}
}

// evictions checks thresholds.
//
// Upstream: pkg/kubelet/eviction/helpers.go, ParseThresholdConfig.
func (c *checker) evictions() {
	kc := c.kc
	c.signals("evictionHard", kc.EvictionHard, c.threshold)
	c.signals("evictionSoft", kc.EvictionSoft, func(at, v string) {
		c.threshold(at, v)
		if allocatable.NoThreshold(v) {
			return
		}
		signal := strings.TrimPrefix(at, "evictionSoft")
		if _, ok := kc.EvictionSoftGracePeriod[strings.Trim(signal, `["]`)]; !ok {
			c.add(at, "needs a grace period in evictionSoftGracePeriod%s", signal)
		}
	})
	c.signals("evictionSoftGracePeriod", kc.EvictionSoftGracePeriod, func(at, v string) {
		if d, err := time.ParseDuration(v); err != nil {
			c.add(at, "%q is not a duration such as \"1m30s\"", v)
		} else if d < 0 {
			c.add(at, "%q must not be negative", v)
		}
	})
	c.signals("evictionMinimumReclaim", kc.EvictionMinimumReclaim, func(at, v string) {
		if !strings.HasSuffix(v, "%") {
			c.quantity(at, v)
		} else if p, ok := percentage(v); !ok || p <= 0 {
			c.add(at, "%q must be above 0%%", v)
		}
	})
}

// signals runs check on every entry whose key is a signal, and reports other keys.
func (c *checker) signals(field string, entries map[string]string, check func(at, v string)) {
	for _, signal := range slices.Sorted(maps.Keys(entries)) {
		at := fmt.Sprintf("%s[%q]", field, signal)
		if !slices.Contains(evictionSignals(), signal) {
			c.add(at, "unknown eviction signal%s", didYouMean(signal, evictionSignals()))
			continue
		}
		check(at, entries[signal])
	}
}

// threshold checks a percentage or a quantity above zero; 0% and 100% disable a threshold.
func (c *checker) threshold(at, v string) {
	if strings.HasSuffix(v, "%") {
		if p, ok := percentage(v); !ok || p < 0 || p > 100 {
			c.add(at, "%q must be between 0%% and 100%%", v)
		}
		return
	}
	if q, ok := c.quantity(at, v); ok && q.IsZero() {
		c.add(at, "%q must be above zero; 0%% turns the threshold off", v)
	}
}

func percentage(v string) (float64, bool) {
	p, err := strconv.ParseFloat(strings.TrimSuffix(v, "%"), 64)
	return p, err == nil && !math.IsNaN(p)
}
