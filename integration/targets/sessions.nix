# Sessions by their user's name, as many as it prints, in a set that it keeps until the end of its
# standard input. Each has one value that nothing needs, so it is never computed.
let
  count = 3000;
  session = n: {
    user = "guest ${toString n}";
    visits = n;
    later =
      n * n;
    greet =
      greeting: "${greeting}, guest ${toString n}";
    cart = [ n (n + 1) (n + 2) ];
  };
  named = n: {
    name = "guest ${toString n}";
    value = session n;
  };
  all = builtins.listToAttrs (builtins.genList named count);
  isUsed = one:
    builtins.isString one.user && builtins.isFunction one.greet && builtins.length one.cart == 3;
  used = builtins.length (builtins.filter isUsed (builtins.attrValues all));
  waits = builtins.stringLength (builtins.readFile "/dev/stdin");
in
builtins.seq (builtins.trace "ready sessions=${toString used}" used)
  (waits + builtins.length (builtins.attrNames all))
