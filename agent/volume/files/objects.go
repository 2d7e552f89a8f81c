package files

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume/atomicdir"
)

// OfConfigMap says which files a ConfigMap makes: those of items, or one for each key. A key that
// is not there is left out if optional.
//
// Upstream: pkg/volume/configmap/configmap.go, MakePayload.
func OfConfigMap(obj *v1.ConfigMap, items []v1.KeyToPath, defaultMode *int32, optional bool) (Set, error) {
	all := make(map[string][]byte, len(obj.Data)+len(obj.BinaryData))
	for k, v := range obj.Data {
		all[k] = []byte(v)
	}
	for k, v := range obj.BinaryData {
		if _, taken := all[k]; !taken {
			all[k] = v
		}
	}
	return pick(all, items, defaultMode, optional, "configmap references non-existent config key: %s")
}

// OfSecret is as OfConfigMap.
//
// Upstream: pkg/volume/secret/secret.go, MakePayload.
func OfSecret(obj *v1.Secret, items []v1.KeyToPath, defaultMode *int32, optional bool) (Set, error) {
	return pick(obj.Data, items, defaultMode, optional, "references non-existent secret key: %s")
}

func pick(all map[string][]byte, items []v1.KeyToPath, defaultMode *int32, optional bool, missing string) (Set, error) {
	out := Set{}
	if len(items) == 0 {
		for k, v := range all {
			out[k] = atomicdir.File{Data: v, Mode: Mode(defaultMode)}
		}
		return out, nil
	}
	for _, it := range items {
		v, ok := all[it.Key]
		switch {
		case ok:
			out[it.Path] = atomicdir.File{Data: v, Mode: Mode(it.Mode, defaultMode)}
		case !optional:
			return nil, fmt.Errorf(missing, it.Key)
		}
	}
	return out, nil
}
