"""Codes of artifacts: uploads, stages, trust, and image registries."""

from gpuaas_server.kernel.errors.foundation import ErrorKind

ARTIFACTS = [
    ErrorKind(
        "digest_mismatch",
        409,
        "The bytes do not match the digest",
        "Publish again with the digest of the bytes that you send.",
    ),
    ErrorKind("upload_missing", 409, "The bytes were not uploaded", "Publish again: upload, then complete the intent."),
    ErrorKind(
        "upload_incomplete",
        409,
        "Parts of the upload are missing",
        "Send the parts in details.missing, then complete the intent.",
    ),
    ErrorKind(
        "upload_in_progress",
        409,
        "Another upload to this intent is in progress",
        "Wait until it ends. An upload whose client is gone ends within a minute.",
        True,
    ),
    ErrorKind(
        "too_many_uploads",
        409,
        "Too many uploads are in progress",
        "Wait until one of them has ended, then try again.",
        True,
    ),
    ErrorKind("publish_expired", 409, "The publish intent was not completed in time", "Create a new publish intent."),
    ErrorKind(
        "artifact_invalid",
        422,
        "The artifact cannot be checked",
        "Correct what detail names, then publish again.",
    ),
    ErrorKind(
        "promotion_refused",
        409,
        "The artifact may not move to this stage",
        "Resolve each reason in details.refusals, then move the artifact.",
    ),
    ErrorKind("artifact_in_use", 409, "The artifact is still in use", "End everything that uses the artifact first."),
    ErrorKind(
        "artifact_revoked",
        409,
        "The artifact is revoked",
        "Use another version. A revoked artifact stays revoked.",
    ),
    ErrorKind(
        "artifact_untrusted",
        409,
        "The artifact is not trusted",
        "Sign the artifact with a trust key of the tenant, then verify it again.",
    ),
    ErrorKind(
        "version_refused",
        409,
        "The version may no longer be used",
        "Read details.reasons, then upgrade to a version in the catalogue, or decommission the instance.",
    ),
    ErrorKind(
        "artifact_not_active",
        409,
        "The artifact is not active",
        "Wait until the artifact is active, or use another version.",
    ),
    ErrorKind("artifact_unknown", 409, "No artifact with this digest is registered", "Publish the artifact first."),
    ErrorKind("not_in_canary", 409, "The canary does not include this project", "Use the active version."),
    ErrorKind(
        "trust_key_refused",
        422,
        "The public key is not acceptable",
        "Send an ECDSA, RSA (2048 bits or more) or Ed25519 public key in PEM, as in cosign.pub.",
    ),
    ErrorKind(
        "registry_not_configured",
        409,
        "This platform has no image registry",
        "Publish a blob, or ask an administrator to set GPUAAS_REGISTRY_BIND or GPUAAS_REGISTRY_URL.",
    ),
    ErrorKind("registry_unavailable", 503, "The image registry does not respond", "Try again in a moment.", True),
    ErrorKind(
        "registry_not_allowed",
        409,
        "The platform may not contact this registry",
        "Push the image to the platform's registry, or ask an administrator to add the host to GPUAAS_EXTERNAL_REGISTRIES.",
    ),
    ErrorKind(
        "registry_untrusted",
        409,
        "The registry's certificate is not trusted",
        "Correct the certificate, or ask an administrator to add its authority to GPUAAS_EXTERNAL_REGISTRY_CA_FILE. Then"
        " register the image again.",
    ),
    ErrorKind(
        "registry_denied",
        409,
        "The registry refuses access to the image",
        "Check the user name and the password, and that they may pull this repository. Then register the image again.",
    ),
    ErrorKind(
        "image_not_found",
        409,
        "The registry has no such image",
        "Check the repository and the digest. Then register the image again.",
    ),
    ErrorKind(
        "image_too_large",
        409,
        "The image is too large",
        "Use a smaller image, or ask an administrator to raise GPUAAS_EXTERNAL_IMAGE_MAX_BYTES.",
    ),
    ErrorKind(
        "pull_credential_private",
        409,
        "The image can be pulled only with a credential of its publisher",
        "Ask the publisher to push the image to the platform's registry.",
    ),
    ErrorKind("storage_unavailable", 503, "The blob store does not respond", "Try again in a moment.", True),
]
