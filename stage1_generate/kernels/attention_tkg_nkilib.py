"""Gives nki-library's attention_tkg, which is a part of larger kernels, as a kernel of its own.

Without RoPE it wants queries and new keys in SBUF, where the kernel before it would have left them, so they are loaded
first (as in aws-neuron/nki-library, test_attention_tkg.py).
"""

import nki
import nki.isa as nisa
import nki.language as nl
from nkilib_src.nkilib.core.attention.attention_tkg import attention_tkg
from nkilib_src.nkilib.core.attention.attention_tkg_utils import AttnTKGConfig
from nkilib_src.nkilib.core.utils.allocator import SbufManager
from nkilib_src.nkilib.core.utils.logging import Logger


@nki.jit
def attention(q, k_active, v_active, k_prior, v_prior, mask):
    """Attend: q [d, b n s], k_active [d, b s], v_active [b, 1, s, d], k_prior [b, 1, d, p], v_prior [b, 1, p, d], mask [p, b, n, s]
    uint8 -> [b, n, d, s]."""
    p, b, n, s = mask.shape
    d = q.shape[0]
    cfg = AttnTKGConfig(bs=b, q_head=n, s_active=s, curr_sprior=p, full_sprior=p, d_head=d, qk_in_sb=True)
    sbm = SbufManager(0, nl.tile_size.total_available_sbuf_size, Logger("SBM"))
    sbm.open_scope()
    out = nl.ndarray((b, n, d, s), dtype=q.dtype, buffer=nl.shared_hbm)
    queries = sbm.alloc_stack(q.shape, dtype=q.dtype, buffer=nl.sbuf)
    keys = sbm.alloc_stack(k_active.shape, dtype=k_active.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=queries, src=q)
    nisa.dma_copy(dst=keys, src=k_active)
    attention_tkg(
        q=queries,
        k_active=keys,
        v_active=v_active,
        k_prior=k_prior,
        v_prior=v_prior,
        mask=mask,
        out=out,
        cfg=cfg,
        sbm=sbm,
    )
    sbm.close_scope()
    return out
