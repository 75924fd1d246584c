"""Figures as XML: exact, valid by the schema, and closed to what is hostile."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from joints import EXAMPLES, figure, neck, random_inputs, shoulder
from synovia import load_figure, save_figure
from synovia.components import Figure, Network, Rotation
from synovia.io import figure_schema, load_network, save_network
from synovia.skeleton import Skeleton

SMALL = """<?xml version="1.0"?>
<network version="1">
  <control name="bend"/>
  <component name="turn" type="rotation">
    <numbers name="axis" shape="3">0 0 1</numbers>
    <numbers name="bounds" shape="2">-1 1</numbers>
  </component>
  <component name="map" type="mapping">
    <curves name="curves">
      <curve name="x" kind="linear">
        <x>-1 1</x>
        <y>-0.5 0.5</y>
      </curve>
    </curves>
  </component>
  <wire from="bend" to="map.value"/>
  <wire from="map.x" to="turn.angle"/>
  <output name="bone" from="turn.matrix"/>
</network>
"""


def all_components():
    """A network of every component, each fed by controls alone."""
    components, wires = dict(EXAMPLES), {}
    for name, component in components.items():
        for port, kind in component.inputs.items():
            wires[f"{name}.{port}"] = kind
    outputs = {
        f"{name}-{port}": f"{name}.{port}"
        for name, component in components.items()
        for port in component.outputs
    }
    return Network(components, wires, outputs)


def same(one, other):
    """Tell whether two networks have the same numbers, bit for bit."""
    assert list(one.components) == list(other.components)
    assert (one.wires, one.outputs, one.controls) == (other.wires, other.outputs, other.controls)
    for name, component in one.components.items():
        assert type(component) is type(other.components[name])
        found = other.components[name].to_dict()
        for parameter, value in component.to_dict().items():
            match(value, found[parameter])


def match(value, found):
    if hasattr(value, "to_dict"):
        value, found = value.to_dict(), found.to_dict()
    if hasattr(value, "__dataclass_fields__"):
        value, found = (
            {name: getattr(each, name) for name in value.__dataclass_fields__}
            for each in (value, found)
        )
    if isinstance(value, dict):
        assert list(value) == list(found)
        for name in value:
            match(value[name], found[name])
    elif isinstance(value, np.ndarray):
        assert value.tobytes() == found.tobytes()
        assert value.shape == found.shape
    else:
        assert value == found


def test_every_component_comes_back_bit_for_bit(tmp_path, rng):
    network = all_components()
    path = tmp_path / "all.xml"
    save_network(network, path)
    again = load_network(path)
    same(network, again)
    given = {
        "scalar": rng.normal(size=4),
        "vector": rng.normal(size=(4, 3)),
        "matrix": random_inputs(EXAMPLES["product"], (4,), rng)["first"],
    }
    controls = {name: given[name] for name in network.controls}
    for name, value in network(controls).items():
        assert value.tobytes() == again(controls)[name].tobytes()
    before = path.read_bytes()
    save_network(again, path)
    assert path.read_bytes() == before


def test_a_figure_comes_back_bit_for_bit(tmp_path):
    body = figure()
    awkward = Skeleton(
        tuple(f'{name} <"&">\t' if name == "hat" else name for name in body.skeleton.names),
        body.skeleton.parents,
        body.skeleton.offsets / 3.0,
        end_parents=[2, 10, 10],
        end_offsets=np.array([[0.1, 1e-300, -0.0], [1.0, 2.0, 3.0], [1e22, 0.3, 0.0]]),
        up="z",
        unit=0.0254 / 0.45,
    )
    body = Figure(awkward, body.joint_sets, "half a body, ½")
    path = tmp_path / "body.xml"
    save_figure(body, path)
    again = load_figure(path)
    assert again.name == body.name
    assert again.controls == body.controls
    for field in ("names", "channels", "up", "unit"):
        assert getattr(again.skeleton, field) == getattr(awkward, field)
    for field in ("parents", "offsets", "end_parents", "end_offsets"):
        assert getattr(again.skeleton, field).tobytes() == getattr(awkward, field).tobytes()
    for name, joint_set in body.joint_sets.items():
        same(joint_set.network, again.joint_sets[name].network)
    controls = {"shoulder.abduction": 0.7, "neck.bend": 0.3}
    assert again.pose(controls).rotations.tobytes() == body.pose(controls).rotations.tobytes()


def test_what_is_written_is_valid_by_the_schema(tmp_path):
    etree = pytest.importorskip("lxml.etree", reason="lxml validates XML Schema")
    schema = etree.XMLSchema(etree.fromstring(figure_schema().encode()))
    body = figure()
    body = replace(body, skeleton=replace(body.skeleton, up="y", unit=0.01))
    save_figure(body, tmp_path / "figure.xml")
    save_network(all_components(), tmp_path / "network.xml")
    for name in ("figure.xml", "network.xml"):
        schema.assertValid(etree.parse(str(tmp_path / name)))
    schema.assertValid(etree.fromstring(SMALL.encode()))
    for bad in (
        SMALL.replace("0 0 1", "0 0 one"),
        SMALL.replace('kind="linear"', 'kind="cubic"'),
        SMALL.replace('to="map.value"', 'to="map"'),
        SMALL.replace("<wire", "<cable"),
    ):
        assert not schema.validate(etree.fromstring(bad.encode()))


def test_a_small_network_is_read(tmp_path):
    path = tmp_path / "small.xml"
    path.write_text(SMALL)
    found = load_network(path)({"bend": 1.0})["bone"]
    np.testing.assert_allclose(found[0, 0], np.cos(0.5))


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("0 0 1", "0 0 one", 5, "expected a number, got 'one'"),
        ("0 0 1", "0 0", 5, "expected 3 numbers, got 2"),
        ("0 0 1", "0 0 0", 4, "axis must not be zero"),
        ("0 0 1", "0 0 nan", 5, "expected a number, got 'nan'"),
        ("0 0 1", "0 0 1e999", 4, "must be finite"),
        ('shape="3"', 'shape="three"', 5, "expected a shape"),
        ('shape="3"', "", 5, "must have the attribute 'shape'"),
        ('name="axis"', 'name="direction"', 4, "has no parameter 'direction'; it has axis"),
        ('name="bounds"', 'name="axis"', 6, "<numbers> name must differ, got 'axis' twice"),
        ("-1 1</numbers>", "1 -1</numbers>", 4, "must rise"),
        ('type="rotation"', 'type="turning"', 4, "no component of type 'turning'; there are"),
        ('"turn" type', '"map" type', 8, "<component> name must differ, got 'map' twice"),
        ('"turn" type', '"tu.rn" type', 2, "without '.', '/' or spaces"),
        ("<x>-1 1</x>", "<x>0</x>", 10, "two knots or more"),
        ("<x>-1 1</x>", "", 10, "a curve must have <x> and <y> once, got 1 elements"),
        ('kind="linear"', 'kind="cubic"', 10, "one of linear, piecewise, spline"),
        ('kind="linear"', 'kind="linear" colour="red"', 10, "has the attributes name, kind"),
        ('to="map.value"', 'to="map.vlue"', 16, "no input 'map.vlue'; did you mean map.value"),
        (
            'from="bend" to="map.value"',
            'from="map.x" to="turn.angle"',
            17,
            "<wire> to must differ, got 'turn.angle' twice",
        ),
        ('from="turn.matrix"', 'from="map.y"', 18, "no source 'map.y'"),
        ('name="bend"/>', 'name="bnd"/>', 2, "controls must be those that its wires use, bend"),
        ("<wire from", "<cable from", 16, "<network> may hold control, component, wire, output"),
        ("</network>", "", 20, "expected well-formed XML"),
        ('version="1">', 'version="2">', 2, "reads version 1 of the format, got '2'"),
        ('<network version="1">', '<figure version="1">', 19, "well-formed"),
        ("<output", "words <output", 2, "must have no text of its own"),
    ],
)
def test_errors_name_path_and_line(tmp_path, old, new, line, words):
    path = tmp_path / "bad.xml"
    assert old in SMALL
    path.write_text(SMALL.replace(old, new, 1))
    with pytest.raises(ValueError, match=rf"bad\.xml:{line}: .*{words}"):
        load_network(path)


@pytest.mark.parametrize(
    "content",
    [
        '<!DOCTYPE network [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n<network>&b;</network>',
        '<!DOCTYPE network SYSTEM "file:///etc/passwd">\n<network version="1"/>',
        '<!DOCTYPE network [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<network>&x;</network>',
        "<network>&undeclared;</network>",
        '<?xml-stylesheet href="http://example.org/x.xsl"?><network version="1"/>',
        "<a>" * 100 + "</a>" * 100,
        "",
        "not XML at all",
        '<?xml version="1.0" encoding="klingon"?><network version="1"/>',
        "<network version='1'>\x00</network>",
        "<network version='1'></network><network/>",
        '<network version="1"/>',
    ],
)
def test_hostile_files_are_refused_at_once(tmp_path, content):
    path = tmp_path / "hostile.xml"
    path.write_bytes(content.encode())
    with pytest.raises(ValueError, match=r"hostile\.xml:\d+: "):
        load_network(path)
    with pytest.raises(ValueError, match=r"hostile\.xml:\d+: "):
        load_figure(path)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "hostile.xml"
    for content in (b"\xff\xfe\x00", b"\x80<network/>", SMALL.encode()[:200] + b"\xff"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"hostile\.xml:\d+: "):
            load_network(path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('parent="trunk"', 'parent="tail"', "a segment must come after its parent, got 'tail'"),
        ('name="c6" parent', 'name="c7" parent', "<segment> name must differ, got 'c7' twice"),
        ('low="-1.0"', "", "must have the attribute 'low'"),
        ('low="-1.0"', 'low="2.0"', "low <= neutral <= high"),
        ('unit="share"', 'unit="miles"', "unit must be one of"),
        (
            '<joint-set name="shoulder"',
            '<joint-set name="neck"',
            "<joint-set> name must differ",
        ),
        ('<output name="c7"', '<output name="c9"', "no segment 'c9'"),
        ("Zrotation", "Wrotation", "channels must be some of"),
        ("<figure", '<figure up="w"', "Skeleton.up must be x, y or z, or empty, got 'w'"),
        ("<figure", '<figure unit="-1"', "Skeleton.unit must be metres, or 0 if unknown, got -1"),
        ("<figure", '<figure unit="m"', "expected a number, got 'm'"),
    ],
)
def test_bad_figures_are_refused_by_line(tmp_path, old, new, words):
    path = tmp_path / "bad.xml"
    save_figure(figure(), path)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"bad\.xml:\d+: .*{words}"):
        load_figure(path)


def test_nothing_is_half_written(tmp_path):
    path = tmp_path / "figure.xml"
    save_figure(figure(), path)
    before = path.read_bytes()

    class Own(Rotation):
        pass

    own = Network({"own": Own([0.0, 0.0, 1.0])}, {"own.angle": "bend"}, {"bone": "own.matrix"})
    with pytest.raises(ValueError, match="'own' must be of a registered type"):
        save_network(own, path)
    nameless = Figure(Skeleton(("\x01",), [-1], np.zeros((1, 3))), {})
    with pytest.raises(ValueError, match="expected well-formed XML"):
        save_figure(nameless, path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["figure.xml"]


def test_the_suffix_and_the_file_are_checked(tmp_path):
    with pytest.raises(ValueError, match=r"the suffix of a figure must be \.xml"):
        save_figure(figure(), tmp_path / "figure.json")
    with pytest.raises(OSError, match="nowhere"):
        load_figure(tmp_path / "nowhere.xml")
    save_network(shoulder(), tmp_path / "one.xml")
    with pytest.raises(ValueError, match=r"one\.xml:2: expected a <figure>, got <network>"):
        load_figure(tmp_path / "one.xml")
    assert load_network(tmp_path / "one.xml").order == shoulder().order
    save_network(neck(), tmp_path / "one.xml")
