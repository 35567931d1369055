# SPDX-License-Identifier: Apache-2.0
import egret
import pytest

torch = pytest.importorskip("torch")

from egret import torch_backend

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(autouse=True)
def forget():
    torch.manual_seed(0)
    torch._dynamo.reset()


def compiled(module, **options):
    options = {"options": options} if options else {}
    return torch.compile(module, backend=torch_backend.compile_graph, dynamic=False, **options)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.head = torch.nn.Linear(8, 5)

    def forward(self, x):
        y = torch.relu(self.norm(self.conv(x)))
        return self.head(y.mean(dim=(2, 3))), y


@pytest.mark.parametrize("exporter", ["recommended", "deprecated"])
def test_a_network_computes_the_same(exporter, monkeypatch):
    if exporter == "deprecated":
        monkeypatch.setattr(torch_backend, "_has_onnxscript", lambda: False)
    block = Block().eval()
    run = compiled(block)
    with torch.no_grad():
        for seed in range(3):
            x = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(seed))
            for got, want in zip(run(x), block(x)):
                torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def test_weights_are_constants_and_changes_are_noticed(monkeypatch):
    exports = []
    original = torch_backend._exported

    def counted(*arguments):
        model = original(*arguments)
        exports.append(model)
        return model

    monkeypatch.setattr(torch_backend, "_exported", counted)
    block = Block().eval()
    run = compiled(block)
    x = torch.randn(2, 3, 16, 16)
    with torch.no_grad():
        run(x)
        run(x)
        assert len(exports) == 1
        assert [one.shape for one in egret.Session(exports[0]).inputs] == [(2, 3, 16, 16)]
        block.head.bias.add_(1)
        torch.testing.assert_close(run(x)[0], block(x)[0], rtol=1e-4, atol=1e-5)
        assert len(exports) == 2


def test_options_go_to_optimize_and_session():
    linear = torch.nn.Linear(4, 4).eval()
    with torch.no_grad():
        run = compiled(linear, quick=True, threads=1)
        torch.testing.assert_close(run(torch.ones(2, 4)), linear(torch.ones(2, 4)))


def test_training_is_refused():
    linear = torch.nn.Linear(4, 4)
    with pytest.raises(Exception, match="inference"):
        compiled(linear)(torch.ones(2, 4))
