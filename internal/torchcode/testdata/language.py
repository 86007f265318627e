class Language(Module):
  __parameters__ = ["w", ]
  __buffers__ = []
  w : Tensor
  training : bool
  _is_full_backward_hook : NoneType
  names : Dict[str, int]
  step : __torch__.Step
  parts : __torch__.torch.nn.modules.container.ModuleList
  def forward(self: __torch__.Language,
    x: Tensor,
    mode: str="sum",
    k: Optional[int]=None) -> Tuple[Tensor, Dict[str, int]]:
    _0 = uninitialized(int)
    _1 = uninitialized(Tensor)
    _2 = uninitialized(bool)
    box = __torch__.Box.__new__(__torch__.Box)
    _3 = (box).__init__(1, )
    out = annotate(List[Tensor], [])
    if torch.__isnot__(k, None):
      k1 = unchecked_cast(int, k)
      _5 = torch.__not__(torch.__contains__([4, 5], k1))
      _4, k0 = _5, k1
    else:
      _4, k0 = False, k
    if _4:
      k2 = unchecked_cast(int, k0)
      x0 = torch.add(x, k2)
    else:
      if torch.eq(mode, "sum"):
        _6 = True
      else:
        training = self.training
        _6 = torch.__not__(training)
      if _6:
        x1 = torch.sub(x, 0.0015)
      else:
        ops.prim.RaiseException(torch.add("no mode ", mode), "builtins.ValueError")
        x1 = _1
      x0 = x1
    parts = self.parts
    _00 = getattr(parts, "0")
    _10 = getattr(parts, "1")
    _7 = (_00).forward(x0, )
    w = self.w
    _8 = torch.append(out, torch.matmul(_7, w))
    _9 = (_10).forward(x0, )
    w0 = self.w
    _11 = torch.append(out, torch.matmul(_9, w0))
    n = 0
    _12 = True
    while _12:
      n0 = torch.add(n, (box).more(2, ))
      if torch.eq(n0, 5):
        _13, _14, _15, _16, _17 = True, torch.lt(n0, 10), n0, _2, _0
      else:
        if torch.gt(n0, 8):
          _18, _19, _20, _21, _22 = True, False, n0, _2, _0
        else:
          _18, _19, _20, _21, _22 = False, _2, _0, torch.lt(n0, 10), n0
        _13, _14, _15, _16, _17 = _18, _19, _20, _21, _22
      if _13:
        _23, _24 = _14, _15
      else:
        _23, _24 = _16, _17
      _12, n = _23, _24
    if torch.gt(n, 3):
      colour = __torch__.Colour.RED
    else:
      colour = __torch__.Colour.BLUE
    _25 = annotate(List[Tensor], [])
    for _26 in range(torch.len(out)):
      t = out[_26]
      _27 = torch.unsqueeze(torch.slice(t, -1, 0, 2), -1)
      _28 = torch.append(_25, _27)
    y = torch.stack(_25)
    _29 = torch.select(y, 0, 0)
    _30 = torch.tensor(1, dtype=ops.prim.dtype(_29), device=ops.prim.device(_29))
    _31 = torch.copy_(_29, _30)
    squares = annotate(List[int], [])
    for j in range(n):
      _32 = torch.append(squares, torch.mul(j, j))
    found = annotate(Dict[str, int], {})
    names = self.names
    _33 = torch.items(names)
    for _34 in range(torch.len(_33)):
      name, v, = _33[_34]
      torch._set_item(found, name, torch.add(v, n))
    if torch.ge(torch.len(squares), 0):
      pass
    else:
      _35 = torch.add("AssertionError: ", torch.format("{} squares", n))
      ops.prim.RaiseException(_35)
    text = torch.format("{} and {}", torch.size(x0, 0), (colour).name)
    found0 = unchecked_cast(Dict[str, int], found)
    torch._set_item(found0, text, n)
    step = self.step
    _36 = torch.sum((step).forward(y, ), [1, 2], True)
    return (_36, found0)
class Double(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Double,
    x: Tensor) -> Tensor:
    return torch.mul(x, 2)
class Step(ModuleInterface):
  def forward(self, x: Tensor) -> Tensor:
    pass
class Colour(Enum):
  RED = 1
  BLUE = 2
class Box:
  n : int
  def __init__(self: __torch__.Box,
    n: int) -> NoneType:
    self.n = n
    return None
  def more(self: __torch__.Box,
    by: int=1) -> int:
    n = self.n
    self.n = torch.add(n, by)
    return self.n
