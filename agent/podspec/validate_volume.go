package podspec

import (
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateVolumes(volumes []v1.Volume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	for i := range volumes {
		v, at := &volumes[i], path.Index(i)
		if v.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		} else {
			errs = append(errs, messages(at.Child("name"), v.Name, validation.IsDNS1123Label(v.Name))...)
		}
		errs = append(errs, unique(names, at.Child("name"), v.Name)...)
		if n := setFields(v.VolumeSource); n > 1 {
			errs = append(errs, field.Forbidden(at, "may not have more than one volume type"))
		}
		errs = append(errs, validateVolume(v, at)...)
	}
	return errs
}

func validateVolume(v *v1.Volume, path *field.Path) field.ErrorList {
	switch {
	case v.EmptyDir != nil:
		return validateEmptyDir(v.EmptyDir, path.Child("emptyDir"))
	case v.HostPath != nil:
		return validateHostPath(v.HostPath, path.Child("hostPath"))
	case v.DownwardAPI != nil:
		at := path.Child("downwardAPI")
		errs := validateMode(at.Child("defaultMode"), v.DownwardAPI.DefaultMode)
		errs = append(errs, validateUser(at.Child("defaultUser"), v.DownwardAPI.DefaultUser)...)
		return append(errs, validateDownward(v.DownwardAPI.Items, at.Child("items"))...)
	case v.Projected != nil:
		at := path.Child("projected")
		errs := validateMode(at.Child("defaultMode"), v.Projected.DefaultMode)
		errs = append(errs, validateUser(at.Child("defaultUser"), v.Projected.DefaultUser)...)
		for i, s := range v.Projected.Sources {
			if setFields(s) != 1 {
				errs = append(errs, field.Required(at.Child("sources").Index(i), "exactly one source, such as downwardAPI"))
			}
			if s.DownwardAPI != nil {
				errs = append(errs, validateDownward(s.DownwardAPI.Items, at.Child("sources").Index(i).Child("downwardAPI", "items"))...)
			}
		}
		return errs
	case v.NFS != nil:
		return validateNFS(v.NFS, path.Child("nfs"))
	case v.Image != nil:
		at := path.Child("image")
		errs := oneOf(at.Child("pullPolicy"), v.Image.PullPolicy, v1.PullAlways, v1.PullIfNotPresent, v1.PullNever)
		if v.Image.Reference == "" {
			errs = append(errs, field.Required(at.Child("reference"), ""))
		}
		return errs
	}
	return nil
}

func validateEmptyDir(v *v1.EmptyDirVolumeSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if v.SizeLimit != nil && v.SizeLimit.Sign() < 0 {
		errs = append(errs, field.Invalid(path.Child("sizeLimit"), v.SizeLimit.String(), "must be 0 (no limit) or more"))
	}
	if v.Mode != nil && (*v.Mode < 0 || *v.Mode > 0o1777) {
		errs = append(errs, field.Invalid(path.Child("mode"), *v.Mode, "must be a number between 0 and 01777 (octal), both inclusive"))
	}
	if m := string(v.Medium); m != "" && m != string(v1.StorageMediumMemory) && !strings.HasPrefix(m, string(v1.StorageMediumHugePages)) {
		errs = append(errs, field.NotSupported(path.Child("medium"), v.Medium,
			[]v1.StorageMedium{v1.StorageMediumMemory, v1.StorageMediumHugePages}))
	}
	return errs
}

func validateHostPath(v *v1.HostPathVolumeSource, path *field.Path) field.ErrorList {
	if v.Path == "" {
		return field.ErrorList{field.Required(path.Child("path"), "")}
	}
	errs := validateNoBacksteps(path.Child("path"), v.Path)
	if v.Type != nil {
		errs = append(errs, oneOf(path.Child("type"), *v.Type,
			v1.HostPathUnset, v1.HostPathDirectoryOrCreate, v1.HostPathDirectory, v1.HostPathFileOrCreate,
			v1.HostPathFile, v1.HostPathSocket, v1.HostPathCharDev, v1.HostPathBlockDev)...)
	}
	return errs
}

func validateNFS(v *v1.NFSVolumeSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if v.Server == "" {
		errs = append(errs, field.Required(path.Child("server"), ""))
	}
	if !strings.HasPrefix(v.Path, "/") {
		errs = append(errs, field.Invalid(path.Child("path"), v.Path, "must be an absolute path"))
	}
	return errs
}

func validateDownward(files []v1.DownwardAPIVolumeFile, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, f := range files {
		at := path.Index(i)
		switch {
		case f.Path == "":
			errs = append(errs, field.Required(at.Child("path"), ""))
		case strings.HasPrefix(f.Path, ".."):
			errs = append(errs, field.Invalid(at.Child("path"), f.Path, "must not start with '..'"))
		default:
			errs = append(errs, validateDescending(at.Child("path"), f.Path)...)
		}
		errs = append(errs, validateMode(at.Child("mode"), f.Mode)...)
		errs = append(errs, validateUser(at.Child("user"), f.User)...)
		switch {
		case f.FieldRef != nil && f.ResourceFieldRef != nil:
			errs = append(errs, field.Invalid(at, f.Path, "may not have both fieldRef and resourceFieldRef"))
		case f.FieldRef != nil:
			errs = append(errs, validateFieldRef(f.FieldRef, volumeFields(), at.Child("fieldRef"))...)
		case f.ResourceFieldRef != nil:
			errs = append(errs, validateResourceFieldRef(f.ResourceFieldRef, true, at.Child("resourceFieldRef"))...)
		default:
			errs = append(errs, field.Required(at, "one of fieldRef and resourceFieldRef"))
		}
	}
	return errs
}

func validateMode(path *field.Path, mode *int32) field.ErrorList {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		return field.ErrorList{field.Invalid(path, *mode, "must be between 0 and 0777 (octal), both inclusive")}
	}
	return nil
}

func validateUser(path *field.Path, user *int64) field.ErrorList {
	if user == nil {
		return nil
	}
	return messages(path, *user, validation.IsValidUserID(*user))
}

// setFields counts the pointers of a union that are set.
func setFields(union any) int {
	n := 0
	v := reflect.ValueOf(union)
	for _, f := range v.Fields() {
		if f.Kind() == reflect.Pointer && !f.IsNil() {
			n++
		}
	}
	return n
}
