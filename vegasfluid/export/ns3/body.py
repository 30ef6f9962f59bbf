"""The part of the ns-3 script that is the same for every model; it reads the lists before it."""

from __future__ import annotations

__all__ = ["BODY"]

BODY = r'''

def text(value):
    """A value of an attribute, as text."""
    return ns.StringValue(value)


def join(first, second, rate, delay, queues):
    """A link between two nodes with a queue at each end: its channel and its forward queue."""
    helper = ns.PointToPointHelper()
    helper.SetDeviceAttribute("DataRate", text(rate))
    helper.SetChannelAttribute("Delay", text(delay))
    ns.Config.SetDefault("ns3::DropTailQueue<Packet>::MaxSize", text("1p"))
    devices = helper.Install(first, second)
    installed = []
    for number, (kind, attributes) in enumerate(queues):
        for name, value in attributes.items():
            ns.Config.SetDefault(f"{kind}::{name}", text(value))
        control = ns.TrafficControlHelper()
        control.SetRootQueueDisc(kind)
        installed.append(control.Install(devices.Get(number)))
    ADDRESSES.Assign(devices)
    ADDRESSES.NewNetwork()
    return devices.Get(0).GetChannel(), Queue(devices.Get(0), installed[0].Get(0))


class Queue:
    """A queue that is watched: the queue discipline and the packet that the device holds."""

    def __init__(self, device, discipline):
        self.device_queue = device.GetObject[ns.PointToPointNetDevice]().GetQueue()
        self.discipline = discipline
        self.samples, self.waiting, self.before = 0, 0, (0, 0)

    def totals(self):
        """Packets that came and packets that were dropped since the start."""
        stats = self.discipline.GetStats()
        return stats.nTotalReceivedPackets, stats.nTotalDroppedPackets

    def begin(self):
        """The warm-up has ended."""
        self.before = self.totals()

    def sample(self):
        """Count the packets that wait now."""
        self.samples += 1
        self.waiting += self.discipline.GetNPackets() + self.device_queue.GetNPackets()

    def line(self):
        """Mean queue and fraction of packets dropped after the warm-up, as text."""
        came, dropped = (now - then for now, then in zip(self.totals(), self.before))
        queue, share = self.waiting / max(self.samples, 1), dropped / max(came, 1)
        return f"queue_packets {queue:.6g} drop_share {share:.6g}"


def new_host(router, rate, delay):
    """A host, and the access link that connects it to a router."""
    host = ns.NodeContainer()
    host.Create(1)
    STACK.Install(host)
    channel, _ = join(host.Get(0), router, rate, delay, (UNLIMITED, UNLIMITED))
    return host.Get(0), channel


def hosts_of(flow_class, delay, nodes, shared):
    """Hosts of sender and receiver; flows without an access rate share them."""
    if not flow_class["shares"] or delay not in shared:
        routers = [nodes.Get(flow_class[end]) for end in ("from", "to")]
        ends = [new_host(router, flow_class["access"], delay) for router in routers]
        flow_class["channels"] += [channel for _, channel in ends]
        shared[delay] = [host for host, _ in ends]
    return shared[delay]


def address_of(node):
    """Address of a host, which has one link."""
    return node.GetObject[ns.Ipv4]().GetAddress(1, 0).GetLocal()


def start_of(start, flow, rng):
    """Start time of a flow, s: random, or from the list."""
    if isinstance(start, dict):
        return rng.uniform(0.0, start["spread"])
    return start[flow if len(start) > 1 else 0]


def install(flow_class, nodes, port, rng):
    """Create the flows of a class; returns their receivers."""
    sinks, shared, protocol = [], {}, f"ns3::{flow_class['protocol']}SocketFactory"
    for flow in range(flow_class["count"]):
        delay = flow_class["hops"][flow if len(flow_class["hops"]) > 1 else 0]
        source, destination = hosts_of(flow_class, delay, nodes, shared)
        if flow_class["control"]:
            path = f"/NodeList/{source.GetId()}/$ns3::TcpL4Protocol/SocketType"
            ns.Config.Set(path, text(flow_class["control"]))
        if flow_class["control"] == "ns3::TcpDctcp":  # its receivers echo marks in another way
            path = f"/NodeList/{destination.GetId()}/$ns3::TcpL4Protocol/SocketType"
            ns.Config.Set(path, text(flow_class["control"]))
        anywhere = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), port + flow).ConvertTo()
        sink = ns.PacketSinkHelper(protocol, anywhere).Install(destination)
        sinks.append(sink.Get(0).GetObject[ns.PacketSink]())
        address = ns.InetSocketAddress(address_of(destination), port + flow).ConvertTo()
        helper = getattr(ns, flow_class["app"])(protocol, address)
        for name, value in flow_class["app_attributes"].items():
            helper.SetAttribute(name, text(value))
        app = helper.Install(source)
        app.Start(ns.Seconds(start_of(flow_class["start"], flow, rng)))
    return sinks


def run_to(seconds):
    """Run the simulation until a time, s."""
    wait = seconds - ns.Simulator.Now().GetSeconds()
    if wait > 0:
        ns.Simulator.Stop(ns.Seconds(wait))
        ns.Simulator.Run()


def watch_to(seconds, queues):
    """Run the simulation until a time after the warm-up, s, and sample all queues on the way."""
    begin = ns.Simulator.Now().GetSeconds()
    if seconds <= begin:
        return
    steps = max(round((seconds - begin) / (DURATION - WARMUP) * QUEUE_SAMPLES), 1)
    for step in range(1, steps + 1):
        run_to(begin + (seconds - begin) * step / steps)
        for queue in queues:
            queue.sample()


def change(what, delays, links):
    """Change the delay of a link, or of the access links of a class."""
    if isinstance(what, str):
        links[what].SetAttribute("Delay", text(delays[0]))
        return
    channels = CLASSES[what]["channels"]
    for number, channel in enumerate(channels):
        channel.SetAttribute("Delay", text(delays[number // 2 if len(delays) > 1 else 0]))


def main(seed):
    """Build the network, run it, and print a line for each class."""
    rng = random.Random(seed)
    ns.RngSeedManager.SetSeed(1)
    ns.RngSeedManager.SetRun(seed + 1)
    for name, value in DEFAULTS.items():
        ns.Config.SetDefault(name, text(value))
    nodes = ns.NodeContainer()
    nodes.Create(NODES)
    STACK.Install(nodes)
    links, watched = {}, {}
    for name, (first, second, rate, delay, queues) in LINKS.items():
        links[name], watched[name] = join(nodes.Get(first), nodes.Get(second), rate, delay, queues)
    sinks, port = [], 1000
    for flow_class in CLASSES:
        flow_class["channels"] = []
        sinks.append(install(flow_class, nodes, port, rng))
        port += flow_class["count"]
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    received = [0] * len(CLASSES)
    moments = sorted([(at, 1, what, delays) for at, what, delays in EVENTS] + [(WARMUP, 0, 0, ())])
    for at, is_event, what, delays in moments:
        run_to(min(at, WARMUP))
        watch_to(at, watched.values())
        if is_event:
            change(what, delays, links)
        else:
            received = [sum(sink.GetTotalRx() for sink in group) for group in sinks]
            for queue in watched.values():
                queue.begin()
    watch_to(DURATION, watched.values())
    for flow_class, before, group in zip(CLASSES, received, sinks):
        total = sum(sink.GetTotalRx() for sink in group) - before
        name, count = flow_class["name"], flow_class["count"]
        rate = total / SEGMENT_BYTES / count / (DURATION - WARMUP)
        print(f"class {name} count {count} goodput_packets_per_s {rate:.6g}")
    for name, queue in watched.items():
        print(f"link {' '.join(name.split())} {queue.line()}")
    ns.Simulator.Destroy()


STACK = ns.InternetStackHelper()
ADDRESSES = ns.Ipv4AddressHelper()
ADDRESSES.SetBase(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.255.252"))
if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEED)
'''
