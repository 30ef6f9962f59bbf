"""The part of the ns-3 script that is the same for every model; it reads the lists before it."""

from __future__ import annotations

__all__ = ["BODY"]

BODY = r'''

def text(value):
    """A value of an attribute; ns-3 reads every kind of value from a text."""
    return ns.StringValue(value)


def join(first, second, rate, delay, queues):
    """A link between two nodes with a queue at each end."""
    helper = ns.PointToPointHelper()
    helper.SetDeviceAttribute("DataRate", text(rate))
    helper.SetChannelAttribute("Delay", text(delay))
    ns.Config.SetDefault("ns3::DropTailQueue<Packet>::MaxSize", text("1p"))
    devices = helper.Install(first, second)
    for number, (kind, attributes) in enumerate(queues):
        for name, value in attributes.items():
            ns.Config.SetDefault(f"{kind}::{name}", text(value))
        control = ns.TrafficControlHelper()
        control.SetRootQueueDisc(kind)
        control.Install(devices.Get(number))
    ADDRESSES.Assign(devices)
    ADDRESSES.NewNetwork()
    return devices.Get(0).GetChannel()


def new_host(near, rate, delay):
    """A host behind an access link, and that link."""
    host = ns.NodeContainer()
    host.Create(1)
    STACK.Install(host)
    return host.Get(0), join(host.Get(0), near, rate, delay, (UNLIMITED, UNLIMITED))


def hosts_of(of, delay, nodes, shared):
    """The sender's and the receiver's host; flows without an access rate share theirs."""
    if not of["shares"] or delay not in shared:
        ends = [new_host(nodes.Get(at), of["access"], delay) for at in (of["from"], of["to"])]
        of["channels"] += [channel for _, channel in ends]
        shared[delay] = [host for host, _ in ends]
    return shared[delay]


def address_of(node):
    """The address of a host, which has one link."""
    return node.GetObject[ns.Ipv4]().GetAddress(1, 0).GetLocal()


def start_of(start, flow, dice):
    """When a flow starts: at random, or as the list says."""
    if isinstance(start, dict):
        return dice.uniform(0.0, start["spread"])
    return start[flow if len(start) > 1 else 0]


def install(of, nodes, port, dice):
    """The flows of a class; their receivers."""
    sinks, shared, protocol = [], {}, f"ns3::{of['protocol']}SocketFactory"
    for flow in range(of["count"]):
        delay = of["hops"][flow if len(of["hops"]) > 1 else 0]
        source, destination = hosts_of(of, delay, nodes, shared)
        if of["control"]:
            path = f"/NodeList/{source.GetId()}/$ns3::TcpL4Protocol/SocketType"
            ns.Config.Set(path, text(of["control"]))
        anywhere = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), port + flow).ConvertTo()
        sink = ns.PacketSinkHelper(protocol, anywhere).Install(destination)
        sinks.append(sink.Get(0).GetObject[ns.PacketSink]())
        there = ns.InetSocketAddress(address_of(destination), port + flow).ConvertTo()
        helper = getattr(ns, of["app"])(protocol, there)
        for name, value in of["app_attributes"].items():
            helper.SetAttribute(name, text(value))
        app = helper.Install(source)
        app.Start(ns.Seconds(start_of(of["start"], flow, dice)))
    return sinks


def run_to(seconds):
    """Go on to a time of the simulation."""
    wait = seconds - ns.Simulator.Now().GetSeconds()
    if wait > 0:
        ns.Simulator.Stop(ns.Seconds(wait))
        ns.Simulator.Run()


def change(what, delays, links):
    """Another delay for a link, or for the access links of a class."""
    if isinstance(what, str):
        links[what].SetAttribute("Delay", text(delays[0]))
        return
    channels = CLASSES[what]["channels"]
    for number, channel in enumerate(channels):
        channel.SetAttribute("Delay", text(delays[number // 2 if len(delays) > 1 else 0]))


def main(seed):
    """Build the network, run it, and print a line for each class."""
    dice = random.Random(seed)
    ns.RngSeedManager.SetSeed(1)
    ns.RngSeedManager.SetRun(seed + 1)
    for name, value in DEFAULTS.items():
        ns.Config.SetDefault(name, text(value))
    nodes = ns.NodeContainer()
    nodes.Create(NODES)
    STACK.Install(nodes)
    links = {}
    for name, (first, second, rate, delay, queues) in LINKS.items():
        links[name] = join(nodes.Get(first), nodes.Get(second), rate, delay, queues)
    sinks, port = [], 1000
    for of in CLASSES:
        of["channels"] = []
        sinks.append(install(of, nodes, port, dice))
        port += of["count"]
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    received = [0] * len(CLASSES)
    moments = sorted([(at, 1, what, delays) for at, what, delays in EVENTS] + [(WARMUP, 0, 0, ())])
    for at, is_event, what, delays in moments:
        run_to(at)
        if is_event:
            change(what, delays, links)
        else:
            received = [sum(sink.GetTotalRx() for sink in of) for of in sinks]
    run_to(DURATION)
    for of, before, those in zip(CLASSES, received, sinks):
        gained = sum(sink.GetTotalRx() for sink in those) - before
        rate = gained / SEGMENT_BYTES / of["count"] / (DURATION - WARMUP)
        print(f"class {of['name']} count {of['count']} goodput_packets_per_s {rate:.6g}")
    ns.Simulator.Destroy()


STACK = ns.InternetStackHelper()
ADDRESSES = ns.Ipv4AddressHelper()
ADDRESSES.SetBase(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.255.252"))
if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEED)
'''
