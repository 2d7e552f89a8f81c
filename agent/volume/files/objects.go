package files

import (
	"context"
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeloupe/kubeloupe/agent/volume/atomicdir"
)

// Keys selects an object in a pod's namespace, and the keys that become files: those of Items, or all, with their own
// names. Mode is the mode and User the owner of files without one in Items; Users says whether owners count.
type Keys struct {
	Object   string
	Items    []v1.KeyToPath
	Mode     *int32
	User     *int64
	Users    Users
	Optional *bool // the object, or a key of Items, may be missing
}

// Getter gets an object of the API; agent/objcache implements it.
type Getter[T any] func(ctx context.Context, namespace, name string) (*T, error)

// OfConfigMap returns the files of a ConfigMap. If a key is in both maps, Data takes precedence.
//
// Upstream: pkg/volume/configmap/configmap.go, MakePayload.
func OfConfigMap(ctx context.Context, get Getter[v1.ConfigMap], namespace string, keys Keys) (Set, error) {
	obj, err := object(ctx, get, namespace, keys)
	if err != nil {
		return nil, err
	}
	all := make(map[string][]byte, len(obj.Data)+len(obj.BinaryData))
	maps.Copy(all, obj.BinaryData)
	for k, v := range obj.Data {
		all[k] = []byte(v)
	}
	return keys.pick(all, "configmap references non-existent config key: %s")
}

// OfSecret returns the files of a Secret.
//
// Upstream: pkg/volume/secret/secret.go, MakePayload.
func OfSecret(ctx context.Context, get Getter[v1.Secret], namespace string, keys Keys) (Set, error) {
	obj, err := object(ctx, get, namespace, keys)
	if err != nil {
		return nil, err
	}
	return keys.pick(obj.Data, "references non-existent secret key: %s")
}

// object returns an empty object if there is none and it is optional.
func object[T any](ctx context.Context, get Getter[T], namespace string, keys Keys) (*T, error) {
	obj, err := get(ctx, namespace, keys.Object)
	if apierrors.IsNotFound(err) && keys.optional() {
		return new(T), nil
	}
	return obj, err
}

func (k Keys) optional() bool { return k.Optional != nil && *k.Optional }

func (k Keys) pick(all map[string][]byte, missing string) (Set, error) {
	out := Set{}
	if len(k.Items) == 0 {
		for key, v := range all {
			out[key] = atomicdir.File{Data: v, Mode: Mode(k.Mode), User: k.Users.Of(k.User)}
		}
		return out, nil
	}
	for _, it := range k.Items {
		v, ok := all[it.Key]
		switch {
		case ok:
			out[it.Path] = atomicdir.File{Data: v, Mode: Mode(it.Mode, k.Mode), User: k.Users.Of(it.User, k.User)}
		case !k.optional():
			return nil, fmt.Errorf(missing, it.Key)
		}
	}
	return out, nil
}
