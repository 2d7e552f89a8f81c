package projected

import (
	"context"
	"fmt"
	"maps"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/kubeloupe/kubeloupe/agent/volume"
	"github.com/kubeloupe/kubeloupe/agent/volume/atomicdir"
	"github.com/kubeloupe/kubeloupe/agent/volume/files"
	"github.com/kubeloupe/kubeloupe/agent/volume/fsgroup"
)

// collect returns the volume's content. If two files have the same path, the later one counts. All sources are tried,
// so that the error names everything that is missing.
//
// Upstream: pkg/volume/projected/projected.go, collectData.
func (p *Plugin) collect(ctx context.Context, s volume.Spec) (files.Set, error) {
	out := files.Set{}
	var errs []error
	for i := range s.Volume.Projected.Sources {
		set, err := p.source(ctx, s, i)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		maps.Copy(out, set)
	}
	return out, utilerrors.NewAggregate(errs)
}

func (p *Plugin) source(ctx context.Context, s volume.Spec, i int) (files.Set, error) {
	mode, user, users := s.Volume.Projected.DefaultMode, s.Volume.Projected.DefaultUser, p.cfg.Fields.Users
	switch src := &s.Volume.Projected.Sources[i]; {
	case src.DownwardAPI != nil:
		return p.cfg.Fields.Files(s.Pod, src.DownwardAPI.Items, mode, user)
	case src.ConfigMap != nil:
		of := src.ConfigMap
		return files.OfConfigMap(ctx, p.cfg.Objects.ConfigMap, s.Pod.Namespace, files.Keys{
			Object: of.Name, Items: of.Items, Mode: mode, User: user, Users: users, Optional: of.Optional,
		})
	case src.Secret != nil:
		of := src.Secret
		return files.OfSecret(ctx, p.cfg.Objects.Secret, s.Pod.Namespace, files.Keys{
			Object: of.Name, Items: of.Items, Mode: mode, User: user, Users: users, Optional: of.Optional,
		})
	case src.ServiceAccountToken != nil:
		return p.token(ctx, s, src.ServiceAccountToken)
	case src.ClusterTrustBundle != nil:
		data, err := p.cfg.Objects.TrustAnchors(ctx, src.ClusterTrustBundle)
		return files.Set{src.ClusterTrustBundle.Path: p.private(s, src.ClusterTrustBundle.User, data)}, err
	case src.PodCertificate != nil:
		return p.certificate(ctx, s, i)
	}
	return nil, fmt.Errorf("projected.sources[%d]: the source is of a type that this build does not know", i)
}

func (p *Plugin) token(ctx context.Context, s volume.Spec, src *v1.ServiceAccountTokenProjection) (files.Set, error) {
	got, err := p.cfg.Tokens.Token(ctx, s.Pod.Namespace, s.Pod.Spec.ServiceAccountName, request(s.Pod, src))
	if err != nil {
		return nil, err
	}
	return files.Set{src.Path: p.private(s, src.User, []byte(got.Status.Token))}, nil
}

// request returns the request for a token that is bound to the pod.
func request(pod *v1.Pod, src *v1.ServiceAccountTokenProjection) *authenticationv1.TokenRequest {
	want := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: src.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	if src.Audience != "" {
		want.Spec.Audiences = []string{src.Audience}
	}
	return want
}

func (p *Plugin) certificate(ctx context.Context, s volume.Spec, i int) (files.Set, error) {
	src := s.Volume.Projected.Sources[i].PodCertificate
	key, chain, err := p.cfg.Certificates.Certificate(ctx, s.Pod, s.Volume.Name, i)
	if err != nil {
		return nil, err
	}
	out := files.Set{}
	for path, data := range map[string][]byte{
		src.CredentialBundlePath: slices.Concat(key, chain), src.KeyPath: key, src.CertificateChainPath: chain,
	} {
		if path != "" {
			out[path] = p.private(s, src.User, data)
		}
	}
	return out, nil
}

// private returns a file that only its owner can read, if there is one, or the pod's fsGroup, which sets the permissions itself. The
// owner is the source's user, the volume's or the pod's. Without one, everybody can read the file.
//
// Upstream: pkg/volume/projected/projected.go, resolveFsUser.
func (p *Plugin) private(s volume.Spec, user *int64, data []byte) atomicdir.File {
	f := atomicdir.File{Data: data, Mode: files.Mode(s.Volume.Projected.DefaultMode), User: p.cfg.Fields.Users.Of(user, s.Volume.Projected.DefaultUser)}
	if f.User == nil {
		f.User = files.User(s.Pod)
	}
	if f.User != nil || fsgroup.Of(s.Pod) != nil {
		f.Mode = 0o600
	}
	return f
}
