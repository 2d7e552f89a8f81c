package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
)

// parseReservedMemory parses NODE:TYPE=QUANTITY[,TYPE=QUANTITY][;NODE:...] and appends to list.
func parseReservedMemory(s string, list *[]kubeletv1beta1.MemoryReservation) error {
	const form = "must be written NODE:TYPE=QUANTITY[,TYPE=QUANTITY...], such as 0:memory=1Gi"
	for item := range strings.SplitSeq(s, ";") {
		if item == "" {
			continue
		}
		node, limits, ok := strings.Cut(item, ":")
		id, err := strconv.ParseInt(node, 10, 32)
		if !ok || err != nil {
			return fmt.Errorf("%q %s", item, form)
		}
		r := kubeletv1beta1.MemoryReservation{NumaNode: int32(id), Limits: corev1.ResourceList{}}
		for limit := range strings.SplitSeq(limits, ",") {
			name, amount, ok := strings.Cut(limit, "=")
			if !ok {
				return fmt.Errorf("%q %s", item, form)
			}
			q, err := resource.ParseQuantity(amount)
			if err != nil {
				return fmt.Errorf("%q is not a quantity such as 500Mi", amount)
			}
			r.Limits[corev1.ResourceName(name)] = q
		}
		*list = append(*list, r)
	}
	return nil
}

// parseTaints parses KEY[=VALUE]:EFFECT[,...] and replaces list. A key can have each effect once: the API server refuses other nodes.
//
// Upstream: pkg/util/taints/taints.go, ParseTaints.
func parseTaints(s string, list *[]corev1.Taint) error {
	*list = nil
	for item := range strings.SplitSeq(s, ",") {
		if item == "" {
			continue
		}
		name, effect, ok := strings.Cut(item, ":")
		if !ok {
			return fmt.Errorf("%q must be written KEY=VALUE:EFFECT", item)
		}
		key, val, _ := strings.Cut(name, "=")
		t := corev1.Taint{Key: key, Value: val, Effect: corev1.TaintEffect(effect)}
		if slices.ContainsFunc(*list, func(o corev1.Taint) bool { return o.MatchTaint(&t) }) {
			return fmt.Errorf("%q: there is a taint with the same key and effect", item)
		}
		*list = append(*list, t)
	}
	return nil
}

// parseScalar parses a string, boolean or integer into v.
func parseScalar(s string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Bool:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return errors.New("must be true or false")
		}
		v.SetBool(b)
	case reflect.Int32, reflect.Int64:
		i, err := strconv.ParseInt(s, 0, v.Type().Bits())
		if err != nil {
			return errors.New("must be " + describe(v.Type()))
		}
		v.SetInt(i)
	case reflect.Uint32:
		i, err := strconv.ParseUint(s, 0, v.Type().Bits())
		if err != nil {
			return errors.New("must be " + describe(v.Type()))
		}
		v.SetUint(i)
	default:
		return fmt.Errorf("no flag can hold a %s", v.Type())
	}
	return nil
}

func parseDuration(s string, p *time.Duration) error {
	d, err := time.ParseDuration(s)
	if err != nil {
		return errors.New("must be a duration such as 1m30s")
	}
	*p = d
	return nil
}
