from lowering import lower


class NKIFrontend:
    def __init__(self, enable_backend_opt=False):
        self.enable_backend_opt = enable_backend_opt

    def compile(self, _context, kernel, *, inputs, target, lnc=1, artifacts_dir=None):
        return lower(kernel, inputs=inputs, target=target, lnc=lnc, artifacts_dir=artifacts_dir)


class ParserFrontend(NKIFrontend):
    pass


class TracerFrontend(NKIFrontend):
    pass


def resolve_frontend_cls():
    return ParserFrontend
