package flex

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/fsgroup"
)

// The options that a driver gets in addition to the user's.
const (
	optionFSType         = "kubernetes.io/fsType"
	optionReadWrite      = "kubernetes.io/readwrite"
	optionVolume         = "kubernetes.io/pvOrVolumeName"
	optionFSGroup        = "kubernetes.io/mounterArgs.FsGroup"
	optionPodName        = "kubernetes.io/pod.name"
	optionPodNamespace   = "kubernetes.io/pod.namespace"
	optionPodUID         = "kubernetes.io/pod.uid"
	optionServiceAccount = "kubernetes.io/serviceAccount.name"
	optionSecret         = "kubernetes.io/secret/" //nolint:gosec // the prefix of a key, not a secret
)

// source is the flexVolume of a pod or of a persistent volume.
type source struct {
	driver, fsType string
	readOnly       bool
	options        map[string]string
	// secret is the name of a Secret, "" for none; namespace is "" for the pod's.
	secret, namespace string
}

// sourceOf returns a volume's source.
//
// Upstream: pkg/volume/flexvolume/util.go, getDriver and others.
func sourceOf(s volume.Spec) source {
	if s.PV == nil {
		f := s.Volume.FlexVolume
		out := source{driver: f.Driver, fsType: f.FSType, readOnly: f.ReadOnly, options: f.Options}
		if f.SecretRef != nil {
			out.secret = f.SecretRef.Name
		}
		return out
	}
	f := s.PV.Spec.FlexVolume
	out := source{driver: f.Driver, fsType: f.FSType, readOnly: s.ReadOnly, options: f.Options}
	if f.SecretRef != nil {
		out.secret, out.namespace = f.SecretRef.Name, f.SecretRef.Namespace
	}
	return out
}

// options returns the JSON of a volume for a driver, with more options. The user's override others of the same name.
//
// Upstream: pkg/volume/flexvolume/driver-call.go, NewOptionsForDriver.
func (src *source) json(name string, more map[string]string) (string, error) {
	out := map[string]string{optionFSType: src.fsType, optionReadWrite: "rw", optionVolume: name}
	if src.readOnly {
		out[optionReadWrite] = "ro"
	}
	maps.Copy(out, more)
	maps.Copy(out, src.options)
	text, err := json.Marshal(out)
	if len(text) > maxOptions {
		return "", fmt.Errorf("the options of the volume, with its Secret, are longer than %d bytes", maxOptions)
	}
	return string(text), err
}

// maxOptions is the kernel's limit of one argument of a program, in bytes.
const maxOptions = 128<<10 - 1

// mountOptions returns the options that only the call mount has.
//
// Upstream: pkg/volume/flexvolume/mounter.go, SetUpAt.
func (p *Plugin) mountOptions(ctx context.Context, s volume.Spec, src *source) (map[string]string, error) {
	out := map[string]string{
		optionPodName: s.Pod.Name, optionPodNamespace: s.Pod.Namespace, optionPodUID: string(s.Pod.UID), optionServiceAccount: s.Pod.Spec.ServiceAccountName,
	}
	if g := fsgroup.Of(s.Pod); g != nil {
		out[optionFSGroup] = strconv.FormatInt(*g, 10)
	}
	if src.secret == "" {
		return out, nil
	}
	namespace := src.namespace
	if namespace == "" {
		namespace = s.Pod.Namespace
	}
	data, err := p.secret(ctx, string(s.Pod.UID), namespace, src)
	if err != nil {
		return nil, fmt.Errorf("couldn't get secret %s/%s err: %w", namespace, src.secret, err)
	}
	for key, value := range data {
		out[optionSecret+key] = base64.StdEncoding.EncodeToString(value)
	}
	return out, nil
}

// secret reads a Secret, whose type must be the driver's name.
//
// Upstream: pkg/volume/util/util.go, GetSecretForPV.
func (p *Plugin) secret(ctx context.Context, uid, namespace string, src *source) (map[string][]byte, error) {
	if p.cfg.API == nil {
		return nil, errors.New("it needs an API server, and this agent runs without one")
	}
	s, err := p.cfg.API.Secrets(namespace).Get(ctx, src.secret, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if s.Type != v1.SecretType(src.driver) {
		return nil, fmt.Errorf("its type is %.253q: must be the driver's name, %s", s.Type, src.driver)
	}
	values := make([]string, 0, 2*len(s.Data))
	for _, v := range s.Data {
		values = append(values, string(v), base64.StdEncoding.EncodeToString(v))
	}
	p.cfg.Secrets.Learn(uid, "secret "+namespace+"/"+src.secret, values...)
	return s.Data, nil
}
