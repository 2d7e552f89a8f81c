package criconfig

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubeloupe/kubeloupe/agent/fieldpath"
	"github.com/kubeloupe/kubeloupe/agent/redact"
)

// Var is one environment variable.
type Var struct {
	Name, Value string
	// Shown is the value in its redacted form, if a part of it may be secret: because it came from a Secret, or from a file that an
	// init container wrote. "" means that no part is secret.
	Shown string
}

// secretVar returns a variable whose complete value is secret.
func secretVar(name, value string) Var {
	if value == "" {
		return Var{Name: name}
	}
	return Var{Name: name, Value: value, Shown: redact.Mark}
}

func (v Var) shown() string { return cmp.Or(v.Shown, v.Value) }

// Secrets returns the values that are completely secret.
func Secrets(env []Var) []string {
	var out []string
	for _, v := range env {
		if v.Shown == redact.Mark {
			out = append(out, v.Value)
		}
	}
	return out
}

// UsesSecrets reports whether a container's environment, and therefore its arguments, may contain secrets.
func UsesSecrets(c *v1.Container) bool {
	return slices.ContainsFunc(c.EnvFrom, func(f v1.EnvFromSource) bool { return f.SecretRef != nil }) ||
		slices.ContainsFunc(c.Env, func(e v1.EnvVar) bool {
			return e.ValueFrom != nil && (e.ValueFrom.SecretKeyRef != nil || e.ValueFrom.FileKeyRef != nil)
		})
}

// Objects fetches what an environment refers to. A missing object is an error for which
// apierrors.IsNotFound is true. The returned objects are not changed.
type Objects interface {
	ConfigMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error)
	Secret(ctx context.Context, namespace, name string) (*v1.Secret, error)
}

// EnvInput is the input for a container's environment, in addition to the pod.
type EnvInput struct {
	// Fields has the addresses for fieldRef.
	Fields fieldpath.Inputs
	// Allocatable replaces limits that the container does not set.
	Allocatable v1.ResourceList
	// Services are the variables of the services that the pod may see; see [ServiceEnv].
	Services []Var
	// Objects may be nil on a node without an API server; then any reference is an error.
	Objects Objects
	// File reads a file of one of the pod's volumes for fileKeyRef, never leaving the volume; each
	// file once. It may be nil; then any such reference is an error.
	File func(volume, path string) ([]byte, error)
}

// Env resolves the environment of a container: envFrom, then env in its order, where later values can refer to earlier ones as
// $(NAME), then the services' variables. A name occurs once. If a value cannot be resolved, the error is an *Error that names the
// field and the missing object. More than 8 MiB of names and values (including replaced ones), or of files for them, are an *Error
// too.
//
// Upstream: pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables.
func Env(ctx context.Context, pod *v1.Pod, c *v1.Container, in EnvInput) ([]Var, error) {
	r := &resolver{
		ctx: ctx, pod: pod, c: c, in: in, at: map[string]int{}, services: map[string]string{},
		left: maxText, files: map[[2]string]*envFile{}, filesLeft: maxText,
	}
	for _, v := range in.Services {
		r.services[v.Name] = v.Value
	}
	for i := range c.EnvFrom {
		if err := r.from(&c.EnvFrom[i]); err != nil {
			return nil, containerError(c, fmt.Sprintf("envFrom[%d]", i), err)
		}
	}
	for i := range c.Env {
		v, ok, err := r.value(&c.Env[i])
		if err != nil {
			return nil, containerError(c, fmt.Sprintf("env[%s]", c.Env[i].Name), err)
		}
		v.Name = c.Env[i].Name
		if ok && !r.set(v) {
			return nil, containerError(c, fmt.Sprintf("env[%s]", c.Env[i].Name), tooLongError{maxText})
		}
	}
	for _, v := range in.Services {
		if _, taken := r.at[v.Name]; !taken && !r.set(v) {
			return nil, containerError(c, "enableServiceLinks", tooLongError{maxText})
		}
	}
	return r.vars, nil
}

type resolver struct {
	ctx  context.Context
	pod  *v1.Pod
	c    *v1.Container
	in   EnvInput
	vars []Var
	// at has the index of each variable in vars.
	at       map[string]int
	services map[string]string
	// left is how many more bytes names and values may have.
	left int
	// files are the files of fileKeyRef, by volume and path; filesLeft is how many more bytes they may have.
	files     map[[2]string]*envFile
	filesLeft int
}

// set adds a variable; false if there is no room for it.
func (r *resolver) set(v Var) bool {
	if r.left -= len(v.Name) + len(v.Value); r.left < 0 {
		return false
	}
	if i, ok := r.at[v.Name]; ok {
		r.vars[i] = v
		return true
	}
	r.at[v.Name] = len(r.vars)
	r.vars = append(r.vars, v)
	return true
}

func (r *resolver) lookup(name string) (Var, bool) {
	if i, ok := r.at[name]; ok {
		return r.vars[i], true
	}
	value, ok := r.services[name]
	return Var{Name: name, Value: value}, ok
}

func (r *resolver) from(src *v1.EnvFromSource) error {
	switch {
	case src.ConfigMapRef != nil:
		cm, err := r.configMap(src.ConfigMapRef.Name, src.ConfigMapRef.Optional)
		if err != nil || cm == nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(cm.Data)) {
			if !r.set(Var{Name: src.Prefix + key, Value: cm.Data[key]}) {
				return tooLongError{maxText}
			}
		}
	case src.SecretRef != nil:
		secret, err := r.secret(src.SecretRef.Name, src.SecretRef.Optional)
		if err != nil || secret == nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
			if !r.set(secretVar(src.Prefix+key, string(secret.Data[key]))) {
				return tooLongError{maxText}
			}
		}
	}
	return nil
}

// value resolves a variable, without its name; false if an optional reference does not exist, so that the variable is
// omitted.
func (r *resolver) value(v *v1.EnvVar) (Var, bool, error) {
	if v.Value != "" || v.ValueFrom == nil {
		value, shown, ok := expandShown(v.Value, r.left, r.lookup) // set subtracts the result from left
		if !ok {
			return Var{}, false, tooLongError{maxText}
		}
		return Var{Value: value, Shown: shown}, true, nil
	}
	switch src := v.ValueFrom; {
	case src.FieldRef != nil:
		if av := src.FieldRef.APIVersion; av != "" && av != "v1" {
			return Var{}, false, fmt.Errorf("fieldRef.apiVersion %q: want v1", av)
		}
		value, err := fieldpath.FieldValue(r.pod, src.FieldRef.FieldPath, r.in.Fields)
		return Var{Value: value}, true, err
	case src.ResourceFieldRef != nil:
		value, err := fieldpath.ResourceValue(r.pod, r.c, src.ResourceFieldRef, r.in.Allocatable)
		return Var{Value: value}, true, err
	case src.ConfigMapKeyRef != nil:
		ref := src.ConfigMapKeyRef
		cm, err := r.configMap(ref.Name, ref.Optional)
		if err != nil || cm == nil {
			return Var{}, false, err
		}
		value, ok := cm.Data[ref.Key]
		return Var{Value: value}, ok, r.missingKey(ok, ref.Optional, "ConfigMap", ref.Name, ref.Key)
	case src.SecretKeyRef != nil:
		ref := src.SecretKeyRef
		secret, err := r.secret(ref.Name, ref.Optional)
		if err != nil || secret == nil {
			return Var{}, false, err
		}
		value, ok := secret.Data[ref.Key]
		return secretVar("", string(value)), ok, r.missingKey(ok, ref.Optional, "Secret", ref.Name, ref.Key)
	case src.FileKeyRef != nil:
		value, ok, err := r.file(src.FileKeyRef)
		return secretVar("", value), ok, err
	}
	return Var{}, true, nil
}

func (r *resolver) file(ref *v1.FileKeySelector) (string, bool, error) {
	if r.in.File == nil {
		return "", false, fmt.Errorf("fileKeyRef: volume %q is not mounted", ref.VolumeName)
	}
	file, err := r.open(ref)
	if err != nil {
		return "", false, fmt.Errorf("read %s of volume %s: %w", ref.Path, ref.VolumeName, err)
	}
	value, err := file.value(ref.Key)
	if err != nil {
		return "", false, fmt.Errorf("%s of volume %s: %w", ref.Path, ref.VolumeName, err)
	}
	if value == "" && !isTrue(ref.Optional) {
		return "", false, fmt.Errorf("couldn't find key %s in file %s of volume %s", ref.Key, ref.Path, ref.VolumeName)
	}
	return value, value != "", nil
}

// open reads a file unless an earlier variable has read it.
func (r *resolver) open(ref *v1.FileKeySelector) (*envFile, error) {
	id := [2]string{ref.VolumeName, ref.Path}
	if file := r.files[id]; file != nil {
		return file, nil
	}
	text, err := r.in.File(ref.VolumeName, ref.Path)
	if err != nil {
		return nil, err
	}
	if r.filesLeft -= len(text); r.filesLeft < 0 {
		return nil, fmt.Errorf("the container's environment files are longer than %d MiB together", maxText>>20)
	}
	file := newEnvFile(string(text))
	r.files[id] = file
	return file, nil
}

// configMap returns nil without an error if it is optional and missing.
func (r *resolver) configMap(name string, optional *bool) (*v1.ConfigMap, error) {
	if r.in.Objects == nil {
		return nil, fmt.Errorf("couldn't get ConfigMap %s/%s: %s", r.pod.Namespace, name, noAPI)
	}
	cm, err := r.in.Objects.ConfigMap(r.ctx, r.pod.Namespace, name)
	if err != nil {
		return nil, unlessOptional(err, optional)
	}
	return cm, nil
}

func (r *resolver) secret(name string, optional *bool) (*v1.Secret, error) {
	if r.in.Objects == nil {
		return nil, fmt.Errorf("couldn't get Secret %s/%s: %s", r.pod.Namespace, name, noAPI)
	}
	secret, err := r.in.Objects.Secret(r.ctx, r.pod.Namespace, name)
	if err != nil {
		return nil, unlessOptional(err, optional)
	}
	return secret, nil
}

func (r *resolver) missingKey(found bool, optional *bool, kind, name, key string) error {
	if found || isTrue(optional) {
		return nil
	}
	return fmt.Errorf("couldn't find key %s in %s %s/%s", key, kind, r.pod.Namespace, name)
}

const noAPI = "this node has no API server to fetch it from"

func unlessOptional(err error, optional *bool) error {
	if isTrue(optional) && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func isTrue(b *bool) bool { return b != nil && *b }
