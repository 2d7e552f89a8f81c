package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/qos"
)

// memoryQoS returns how cgroup v2 protects and throttles memory.
func memoryQoS(kc *kubeletv1beta1.KubeletConfiguration, gates Gates) *qos.MemoryPolicy {
	if !gates.Enabled("MemoryQoS") {
		return nil
	}
	return &qos.MemoryPolicy{
		Tiered: kc.MemoryReservationPolicy == kubeletv1beta1.TieredReservationMemoryReservationPolicy, Throttling: kc.MemoryThrottlingFactor,
		Claims: claims(gates),
	}
}

// claims returns whether the resources count that pods have by ResourceClaims.
func claims(gates Gates) qos.Claims { return qos.Claims(gates.Enabled("DRANodeAllocatableResources")) }

// qosReserved returns the percentage of memory.
func qosReserved(kc *kubeletv1beta1.KubeletConfiguration, gates Gates) *int64 {
	text, ok := kc.QOSReserved["memory"]
	if !ok || !gates.Enabled("QOSReserved") {
		return nil
	}
	percent, err := wholePercent(text)
	if err != nil {
		return nil // the report has it
	}
	return &percent
}

// reservedForQoS checks qosReserved.
//
// Upstream: pkg/kubelet/cm/container_manager.go, ParseQOSReserved.
func (c *checker) reservedForQoS() {
	for _, name := range slices.Sorted(maps.Keys(c.kc.QOSReserved)) {
		at := fmt.Sprintf("qosReserved[%q]", name)
		if name != "memory" {
			c.add(at, "cannot be reserved; only memory can")
		} else if _, err := wholePercent(c.kc.QOSReserved[name]); err != nil {
			c.add(at, "%v", err)
		}
	}
}

func wholePercent(text string) (int64, error) {
	number, ok := strings.CutSuffix(text, "%")
	n, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || n < 0 || n > 100 {
		return 0, fmt.Errorf("%q must be a whole percentage from 0%% to 100%%", text)
	}
	return n, nil
}
