package image

import (
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Request is a request for one container's image.
type Request struct {
	// PodUID is the UID of the back-off's pod.
	PodUID string
	// Pod is the pod of the events and of the calls to credential providers; nil publishes events on the bus only.
	Pod *v1.Pod
	// PullSecrets are the pod's pull secrets that exist.
	PullSecrets []v1.Secret
	// Container is the container's name, for messages; empty for an image volume.
	Container string
	// Field is the container's field in the pod, for events; empty means spec.containers{Container}.
	Field string
	// Image is the name in the manifest.
	Image string
	// Policy is the pull policy; empty means Name.DefaultPolicy.
	Policy v1.PullPolicy
	// Annotations are the pod's, which a runtime may use to choose the image.
	Annotations map[string]string
	// RuntimeHandler is sent with the image's name; leave it empty unless the feature
	// gate RuntimeClassInImageCriApi is on.
	RuntimeHandler string
}

func (r *Request) field() string {
	if r.Field != "" || r.Container == "" {
		return r.Field
	}
	return "spec.containers{" + r.Container + "}"
}

// User is the user of an image.
type User struct {
	// UID is nil if the image has a user name instead, or no user.
	UID *int64
	// Name is the user's name; empty if UID is set or the image has no user (root).
	Name string
}

// Result is an image that is on the node.
type Result struct {
	// Ref is the image's ID.
	Ref string
	// Spec is the image reference for CreateContainer.
	Spec *runtimeapi.ImageSpec
	// User is the image's user, for runAsNonRoot.
	User User
	// Pulled says that a pull was needed, Shared that it was another pod's.
	Pulled, Shared bool
	// Bytes is the image's size on the node.
	Bytes int64
}

func newResult(req *Request, img *runtimeapi.Image) Result {
	r := Result{
		Ref:   img.GetId(),
		Spec:  &runtimeapi.ImageSpec{Image: img.GetId(), UserSpecifiedImage: req.Image},
		User:  User{Name: img.GetUsername()},
		Bytes: int64(img.GetSize()),
	}
	if uid := img.GetUid(); uid != nil {
		r.User.UID = new(uid.GetValue())
	}
	return r
}
